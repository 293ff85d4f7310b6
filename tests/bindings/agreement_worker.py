# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of agreement_test.py: parameters in another order at each worker are
exchanged by their names, and different parameters raise a Mismatch at all workers that names them.
"""

import os
import unittest
from unittest import mock

import torch
from torch import nn

import byteps.torch as bps
import stretto.torch as st
import work
from stretto import errors

SHAPES = {"a": (3,), "b": (3,), "c10": (200, 100), "c2": (200, 100), "d": (7, 2)}


class Model(nn.Module):
    """Parameters in a given order, each with a buffer."""

    def __init__(self, names):
        super().__init__()
        for name in names:
            fill = 1.0 + sorted(SHAPES).index(name)
            setattr(self, name, nn.Parameter(torch.full(SHAPES[name], fill)))
            self.register_buffer(f"of_{name}", torch.full((2,), fill * (st.rank() + 1)),
                                 persistent=name != "a")

    def forward(self, scale):
        """Each parameter has a gradient of its own."""
        return sum((1 + place) * scale * getattr(self, name).sum()
                   for place, name in enumerate(sorted(SHAPES)))


class Agreement(unittest.TestCase):

    def setUp(self):
        self.rank, self.size = st.rank(), st.size()
        names = list(SHAPES)
        self.names = names[self.rank:] + names[:self.rank]
        self.scales = 1 + torch.arange(float(self.size))

    def model(self):
        """The model, in this worker's order."""
        return Model(self.names)

    def train(self, model, optimizer, forward=None):
        """Takes some steps, with gradients that differ between workers and parameters."""
        for _ in range(3):
            optimizer.zero_grad()
            (forward or model)(self.scales[self.rank]).backward()
            optimizer.step()
        if hasattr(optimizer, "finish"):
            optimizer.finish()

    def assert_trained(self, model, rate=0.1, steps=3):
        """Checks that each parameter was trained by the mean of its gradients."""
        for place, name in enumerate(sorted(SHAPES)):
            wanted = 1 + place - steps * rate * (1 + place) * self.scales.mean()
            values = getattr(model, name).detach()
            self.assertTrue(torch.allclose(values, wanted.expand_as(values)), name)

    def sgd(self, parameters, rate=0.1):
        """Plain SGD, whose result is known."""
        return torch.optim.SGD(list(parameters), lr=rate)

    def test_steps_in_another_order(self):
        for options in ({}, {"mode": "eager"}, {"model": True}, {"compression_params": {
                "compressor": "topk", "k": 20000, "ef": "vanilla"}}):
            with self.subTest(options):
                model = self.model()
                if "model" in options:
                    options = {"model": model}
                self.train(model, st.DistributedOptimizer(
                    self.sgd(model.parameters()), model.named_parameters(), **options))
                self.assert_trained(model)

    def test_groups_in_another_order(self):
        model = self.model()
        pairs = list(model.named_parameters())
        optimizer = torch.optim.SGD([{"params": [parameter]} for _, parameter in pairs], lr=0.1)
        self.train(model, st.DistributedOptimizer(optimizer, iter(sorted(pairs))))
        self.assert_trained(model)

    def test_updates_in_another_order(self):
        for mode in ("bounded", "async", "eager_async"):
            with self.subTest(mode):
                model = self.model()
                self.train(model, st.DistributedOptimizer(
                    self.sgd(model.parameters()), model.named_parameters(), mode=mode,
                    lr_rule="constant"))
                self.assert_trained(model, rate=0.1 * self.size)

    def test_steps_that_are_late(self):
        model = self.model()
        optimizer = bps.DistributedOptimizer(self.sgd(model.parameters()),
                                             model.named_parameters(), staleness=1)
        for _ in range(3):
            optimizer.zero_grad()
            model(self.scales[self.rank]).backward()
            optimizer.step()
        optimizer.prepare_stale_states()
        self.assert_trained(model)

    def test_a_parallel_module(self):
        model = self.model()
        parallel = st.DistributedDataParallel(model)
        self.train(model, self.sgd(model.parameters()), parallel)
        self.assert_trained(model)
        for place, name in enumerate(sorted(SHAPES)):
            self.assertEqual(getattr(model, f"of_{name}").tolist(), [1.0 + place] * 2, name)

    def test_broadcasts_in_another_order(self):
        for kind in (dict, list, iter):
            model = self.model()
            for parameter in model.parameters():
                parameter.data *= self.rank
            st.broadcast_parameters(kind(dict(model.named_parameters()).items()), self.size - 1)
            for place, name in enumerate(sorted(SHAPES)):
                self.assertTrue(torch.all(getattr(model, name) == (1 + place) * (self.size - 1)))

    def test_the_state_of_optimizers_in_another_order(self):
        model = self.model()
        pairs = list(model.named_parameters())
        groups = [{"params": [getattr(model, "c2")], "lr": 0.5 + self.rank},
                  {"params": [parameter for name, parameter in pairs if name != "c2"]}]
        plain = torch.optim.Adam(groups if self.rank == 0 else groups[::-1])
        if self.rank == 0:
            for place, name in enumerate(sorted(SHAPES)):
                getattr(model, name).grad = torch.full(SHAPES[name], 1.0 + place)
            plain.step()
        optimizer = st.DistributedOptimizer(plain, model.named_parameters())
        st.broadcast_optimizer_state(optimizer, 0)
        for place, name in enumerate(sorted(SHAPES)):
            state = optimizer.state[getattr(model, name)]
            self.assertEqual(state["exp_avg"].shape, SHAPES[name])
            self.assertTrue(torch.allclose(state["exp_avg"], torch.tensor(0.1 * (1 + place))), name)
        rates = [group["lr"] for group in optimizer.param_groups]
        self.assertEqual(rates if self.rank == 0 else rates[::-1], [0.5, 1e-3])
        with self.assertRaisesRegex(errors.Mismatch, "parameters in the optimizer"):
            st.broadcast_optimizer_state(plain, 0)  # Plain SGD knows no names.

    # ---- other parameters

    def assert_mismatch(self, words, call):
        """Every worker gets the Mismatch, and later exchanges are right."""
        with self.assertRaisesRegex(errors.Mismatch, words):
            call()
        self.assertEqual(st.push_pull(torch.ones(1), "after", average=False).item(), self.size)

    def each_mode(self, mine, words):
        """Each way to train reports other parameters at the last worker."""
        is_last = self.rank == self.size - 1

        def named():
            given = {"first": torch.ones(2), "kept": torch.ones(3), "last": torch.ones(3, 5)}
            return [(name, nn.Parameter(tensor)) for name, tensor in
                    (mine(given) if is_last else given).items()]

        def train(options):
            pairs = named()
            optimizer = options.pop("wrap", st.DistributedOptimizer)(
                self.sgd(parameter for _, parameter in pairs), pairs, **options)
            for _ in range(2):
                sum(parameter.sum() for _, parameter in pairs).backward()
                optimizer.step()

        for options in ({}, {"mode": "eager"}, {"mode": "bounded"}, {"mode": "eager_async"},
                        {"compression": st.Compression.fp16},
                        {"wrap": bps.DistributedOptimizer, "staleness": 1}):
            with self.subTest(options):
                self.assert_mismatch(words, lambda options=options: train(dict(options)))
        self.assert_mismatch(words, lambda: st.broadcast_parameters(named(), 0))
        module = nn.Module()
        for name, parameter in named():
            module.register_parameter(name, parameter)
        self.assert_mismatch(words, lambda: st.DistributedDataParallel(module))

    def test_other_names(self):
        self.each_mode(lambda given: {"first": given["first"], "kept": given["kept"],
                                      "wrong": given["last"]},
                       r"'last' \(float32\[3, 5\]\) is not (t?here); .*'wrong'")

    def test_other_shapes(self):
        self.each_mode(lambda given: {**given, "last": torch.ones(5, 3)},
                       r"'last' is float32\[\d, \d\] here and float32\[\d, \d\] there")

    def test_other_counts(self):
        self.each_mode(lambda given: {**given, "more": torch.ones(1)},
                       r"'more' \(float32\[1\]\) is not (t?here)\.")

    def test_other_types(self):
        dtype = torch.float64 if self.rank == 0 else torch.float32
        parameter = nn.Parameter(torch.ones(3, dtype=dtype))

        def train():
            optimizer = st.DistributedOptimizer(self.sgd([parameter]))
            parameter.sum().backward()
            optimizer.step()

        self.assert_mismatch(r"'noname.0' is float\d\d\[3\] here and float\d\d\[3\] there", train)
        self.assert_mismatch("'0' is float", lambda: st.broadcast_parameters([parameter], 0))

    def test_nothing_at_one_worker(self):
        parameter = nn.Parameter(torch.ones(3), requires_grad=self.rank == 0)

        def train():
            optimizer = st.DistributedOptimizer(self.sgd([parameter]))
            if self.rank == 0:
                parameter.sum().backward()
            optimizer.step()

        self.assert_mismatch("'noname.0' .* is not t?here", train)

    def test_other_modes(self):
        parameter = nn.Parameter(torch.ones(3))

        def train():
            optimizer = st.DistributedOptimizer(self.sgd([parameter]),
                                                mode="sync" if self.rank == 0 else "eager")
            parameter.sum().backward()
            optimizer.step()

        self.assert_mismatch("mode is (sync|eager) here and (sync|eager) there", train)

    def test_other_optimizers(self):
        parameters = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))]
        last = self.rank == self.size - 1
        for words, optimizer in (
                ("'0.1' is float.* here and .* there",
                 self.sgd(parameters[::-1] if last else parameters)),
                (r"'0.1' .* is not t?here", self.sgd(parameters[:1] if last else parameters)),
                ("'0.1' .* is not t?here.*'1.0'", torch.optim.SGD(
                    [{"params": parameters}] if last else
                    [{"params": [parameter]} for parameter in parameters], lr=0.1)),
                ("the optimizer is (SGD|Adam) here and (SGD|Adam) there",
                 torch.optim.Adam(parameters) if last else self.sgd(parameters))):
            self.assert_mismatch(f"broadcast_optimizer_state: worker . has other .*{words}",
                                 lambda optimizer=optimizer: st.broadcast_optimizer_state(
                                     optimizer, 0))

    def test_buffers_that_only_some_broadcast(self):
        self.assert_mismatch(
            "broadcast_buffers is (True|False) here and (True|False) there",
            lambda: st.DistributedDataParallel(self.model(), broadcast_buffers=self.rank > 0))

    def test_other_values(self):
        is_last = self.rank == self.size - 1

        def train(options):
            model = self.model()
            if is_last:
                with torch.no_grad():
                    model.b[1] += 1e-6
                    model.c2.mul_(2)
            if "model" in options:
                options = {"model": model}
            optimizer = options.pop("wrap", st.DistributedOptimizer)(
                self.sgd(model.parameters()), model.named_parameters(), **options)
            self.train(model, optimizer)

        for options in ({}, {"model": True}, {"mode": "delayed"},
                        {"compression": st.Compression.fp16},
                        {"wrap": bps.DistributedOptimizer, "staleness": 1}):
            with self.subTest(options):
                self.assert_mismatch(r"the values of 'b', 'c2' differ .*broadcast_parameters",
                                     lambda options=options: train(dict(options)))
        with mock.patch.dict(os.environ, STRETTO_CHECK_VALUES="0"):
            train({})

    def test_values_of_each_type(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            parameter = nn.Parameter(torch.full((3, 2), float(self.rank), dtype=dtype).t())

            def train(parameter=parameter):
                optimizer = st.DistributedOptimizer(self.sgd([parameter]))
                parameter.sum().backward()
                optimizer.step()

            self.assert_mismatch("the values of 'noname.0' differ", train)

    def test_values_that_are_no_tensors(self):
        tensor = torch.ones(1)
        for kind, value in (("dict", {"w": tensor}), ("int", 3), ("NoneType", None)):
            for given in ({"w": tensor, "odd": value}, [("w", tensor), ("odd", value)]):
                with self.assertRaisesRegex(ValueError, f"'odd' is a {kind}, wanted a torch"):
                    st.broadcast_parameters(given, 0)

    def test_modules_with_extra_state(self):
        class Counting(nn.Linear):
            """Has a value in its state_dict() that is no tensor."""

            def get_extra_state(self):
                return {"calls": 1}

            def set_extra_state(self, state):
                """Nothing."""

        with self.assertRaisesRegex(ValueError, "'_extra_state' is a dict"):
            st.broadcast_parameters(Counting(2, 2).state_dict(), 0)
        module = st.DistributedDataParallel(Counting(2, 2))
        module(torch.ones(1, 2)).sum().backward()

    def test_unnamed_tensors_of_other_sizes(self):
        for least, kind in ((5, torch.float32), (100_000, torch.float64)):  # They share pieces.
            mine = torch.ones(least + (self.rank == 0), dtype=kind)
            words = f"worker 0 has {least + 1}, worker 1 has {least}.* elements"
            self.assert_mismatch(words, lambda mine=mine: st.broadcast_(mine, 0))
            for _ in range(2):  # A later tensor could be mistaken for an earlier one.
                self.assert_mismatch(words, lambda mine=mine: bps.synchronize(
                    bps.byteps_push_pull(mine, average=False)))

    def test_many_differ(self):
        pairs = [(f"{self.rank}.{place}", torch.ones(1)) for place in range(2000)]
        self.assert_mismatch(r"'0.0' .*'0.1' .*'0.2' .*and 3997 more differ",
                             lambda: st.broadcast_parameters(pairs, 0))

    def test_names_that_occur_twice(self):
        with self.assertRaisesRegex(ValueError, "name 'x'"):
            st.broadcast_parameters([("x", torch.ones(1)), ("x", torch.ones(2))], 0)


if __name__ == "__main__":
    work.run_tests()
    print("done", flush=True)
