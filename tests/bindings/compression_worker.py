# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of compression_test.py. Prints "done" if all results are right."""

import sys
import unittest

import torch

import byteps.torch as bps

COUNT = 1000


def trained(params):
    """The loss of a small regression after some steps, and its weights."""
    torch.manual_seed(1)
    truth = torch.randn(40, 10)
    model = torch.nn.Linear(40, 10)
    optimizer = bps.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.2),
                                         model.named_parameters(), compression_params=params)
    torch.manual_seed(10 + bps.rank())
    for _ in range(150):
        inputs = torch.randn(32, 40)
        loss = ((model(inputs) - inputs @ truth) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss), model.weight.detach().clone()


class Codecs(unittest.TestCase):

    def test_a_declared_name_travels_as_it_was_declared(self):
        bps.declare("signs", compressor="onebit", scaling=True)
        tensor = torch.arange(-500.0, 500.0) + 0.5
        mean = bps.push_pull(tensor, name="signs")
        self.assertTrue(torch.equal(mean, torch.sign(tensor) * 250))
        bps.declare("half", byteps_compressor_type="fp16")
        self.assertEqual(bps.push_pull(torch.full((COUNT,), 1 / 3), name="half")[0],
                         torch.tensor(1 / 3).half().float())
        whole = bps.push_pull(torch.full((COUNT,), 1 / 3), name="whole")
        self.assertEqual(whole[0], torch.tensor(1 / 3))

    def test_what_comes_back_through_the_codec_is_the_mean(self):
        for compressor, value in (("fp16", 40000.0), ("onebit", 1.0)):
            bps.declare(f"mean.{compressor}", compressor=compressor)
            tensor = torch.full((COUNT,), value)
            self.assertTrue(torch.equal(bps.push_pull(tensor, name=f"mean.{compressor}"), tensor))

    def test_overflow_is_not_hidden(self):
        for compressor, more in (("onebit", {}), ("onebit", {"ef": "vanilla"}),
                                 ("randomk", {"k": 0.01}), ("topk", {"k": 0.01}), ("int8", {})):
            name = f"overflow.{compressor}.{len(more)}"
            bps.declare(name, compressor=compressor, **more)
            tensor = torch.ones(COUNT)
            if bps.rank() == 1:
                tensor[COUNT // 2] = float("inf")
            self.assertFalse(torch.isfinite(bps.push_pull(tensor, name=name)).all(), name)

    def test_small_and_whole_tensors_travel_as_they_are(self):
        bps.declare("small", compressor="onebit")
        self.assertEqual(bps.push_pull(torch.tensor([1.0, 5.0]), name="small").tolist(), [1, 5])
        bps.declare("numbers", compressor="onebit")
        numbers = torch.arange(COUNT)
        self.assertTrue(torch.equal(bps.push_pull(numbers, name="numbers"), numbers))

    def test_a_gradients_own_size_decides(self):
        """Small gradients travel together and unencoded; a gradient with a codec travels alone."""
        small = [torch.nn.Parameter(torch.zeros(15)) for _ in range(4)]
        large = [torch.nn.Parameter(torch.zeros(16)) for _ in range(2)]
        optimizer = bps.DistributedOptimizer(
            torch.optim.SGD(small + large, lr=1),
            [(f"own{i}", parameter) for i, parameter in enumerate(small + large)],
            compression_params={"compressor": "onebit", "scaling": True})
        each = torch.arange(16.0)
        whole = sum((parameter * each[:15]).sum() for parameter in small)
        whole += (large[0] * each).sum() + 2 * (large[1] * each).sum()
        whole.backward()
        optimizer.step()
        for parameter in small:
            self.assertEqual(parameter.tolist(), (-each[:15]).tolist())
        self.assertEqual(large[0].tolist(), [-7.5] * 16)
        self.assertEqual(large[1].tolist(), [-15.0] * 16)

    def test_training_learns_with_every_codec(self):
        plain, _ = trained(None)
        for params in ({"compressor": "bf16"}, {"compressor": "int8"},
                       {"compressor": "topk", "k": 0.2, "ef": "vanilla"},
                       {"compressor": "randomk", "k": 0.5, "ef": "vanilla", "seed": 7},
                       {"compressor": "onebit", "scaling": True, "ef": "vanilla"},
                       {"compressor": "dithering", "k": 15, "partition": "linear",
                        "normalize": "max"}):
            with self.subTest(params):
                loss, weights = trained(params)
                self.assertLess(loss, max(20 * plain, 0.5))
                everywhere = bps.broadcast(weights, 0, name="weights")
                self.assertTrue(torch.equal(everywhere, weights), "workers stay the same")


def rules():
    """By STRETTO_CODEC=*signs*=onebit;*exact*=none."""
    tensor = torch.tensor([3.0, -4.0])
    for name, wanted in (("signs", [1, -1]), ("exact", [3 * bps.size(), -4 * bps.size()])):
        found = bps.push_pull(tensor, name=name, average=False).tolist()
        if found != wanted:
            sys.exit(f"{name}: {found}, wanted {wanted}")


def main():
    """The first failure ends the process, and so the job."""
    torch.set_num_threads(1)
    bps.init()
    passed = True
    if sys.argv[1:] == ["rules"]:
        rules()
    else:
        passed = unittest.main(exit=False, failfast=True).result.wasSuccessful()
    bps.shutdown()
    if not passed:
        sys.exit(1)
    print("done", flush=True)


if __name__ == "__main__":
    main()
