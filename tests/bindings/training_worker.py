# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of training_test.py: trains one model in many ways, and compares the
weights, bit by bit, with those of DistributedDataParallel over gloo and between the workers. Prints
"done" on success.
"""

import argparse
import copy
import os
import unittest
import warnings

import torch
import torch.distributed as dist
from torch import nn

import byteps.torch as bps
import byteps.torch.cross_barrier as cross_barrier
import stretto.torch as st
import work
from byteps.torch.parallel import DistributedDataParallel
from stretto.torch.distributed import libuv

STEPS = 60
ARGUMENTS = argparse.Namespace(steps=400, runs=1, resnet=False)


def data(step, rank):
    """A batch of this step and rank: the same in every run."""
    generator = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(8, 12, generator=generator)
    return inputs, inputs[:, :3] * 2 - 1


def perceptron(rank, batch_norm=False):
    """A model with different initial values at each rank."""
    torch.manual_seed(rank)
    middle = [nn.BatchNorm1d(20)] if batch_norm else []
    return nn.Sequential(nn.Linear(12, 20), *middle, nn.Tanh(), nn.Linear(20, 3))


def weights(model):
    """All parameters as one vector."""
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


def sgd(model):
    """An optimizer with state."""
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def train(model, optimizer, steps=STEPS):
    """A plain loop."""
    for step in range(steps):
        inputs, targets = data(step, st.rank())
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


def use_gloo():
    """For the tests that compare with it; the others do not need it."""
    if not dist.is_initialized():
        libuv.do_without()
        dist.init_process_group("gloo")


def with_gloo(model, steps=STEPS):
    """The model's weights after training by DistributedDataParallel."""
    use_gloo()
    wrapped = nn.parallel.DistributedDataParallel(model)
    train(wrapped, sgd(wrapped), steps)
    return weights(model)


def shared(model):
    """The same parameters at every worker, and the optimizer for them."""
    bps.broadcast_parameters(model.state_dict(), root_rank=0)
    return sgd(model)


class Training(unittest.TestCase):

    def setUp(self):
        self.rank = st.rank()

    def assert_alike(self, model):
        """All workers have the same weights, and they are numbers."""
        rows = st.allgather(weights(model).view(1, -1))
        self.assertTrue(torch.isfinite(rows).all())
        for row in rows:
            self.assertTrue(torch.equal(row, rows[0]), "the workers' weights differ")

    def in_sync(self, wrap, steps=STEPS, batch_norm=False):
        """The weights after training a perceptron with wrap(optimizer, model)."""
        model = perceptron(self.rank, batch_norm)
        optimizer = wrap(shared(model), model)
        self.assertIsInstance(optimizer, torch.optim.SGD)  # Schedules require it.
        train(model, optimizer, steps)
        model.state_dict()  # Ends a step in progress layer by layer.
        self.assert_alike(model)
        return weights(model)

    def plain(self):
        """As in most scripts."""
        return self.in_sync(lambda optimizer, model: bps.DistributedOptimizer(
            optimizer, named_parameters=model.named_parameters()))

    def test_equals_gloo_in_every_bit(self):
        for _ in range(ARGUMENTS.runs):
            expected = with_gloo(perceptron(self.rank), ARGUMENTS.steps)
            found = self.in_sync(lambda optimizer, model: bps.DistributedOptimizer(
                optimizer, model.named_parameters()), ARGUMENTS.steps)
            self.assertTrue(torch.equal(found, expected))

    def test_resnet_equals_gloo(self):
        if not ARGUMENTS.resnet:
            return
        import torchvision
        found = []
        use_gloo()
        for by_gloo in (True, False):
            torch.manual_seed(self.rank)
            model = torchvision.models.resnet18(num_classes=10)
            inner = model
            if by_gloo:
                model = nn.parallel.DistributedDataParallel(model)
                optimizer = sgd(model)
            else:
                model = DistributedDataParallel(model, device_ids=[0])
                optimizer = sgd(model)
            for step in range(3):
                generator = torch.Generator().manual_seed(step * 10 + self.rank)
                images = torch.randn(2, 3, 32, 32, generator=generator)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(images), torch.tensor([1, 2])).backward()
                optimizer.step()
            found.append(weights(inner))
        self.assertTrue(torch.equal(*found))

    def test_every_synchronous_way_is_the_same(self):
        expected = self.plain()
        ways = {
            "without names": lambda optimizer, _: bps.DistributedOptimizer(optimizer),
            "layer by layer": lambda optimizer, model: st.DistributedOptimizer(
                optimizer, model.named_parameters(), model=model),
            "cross barrier": lambda optimizer, model: cross_barrier.CrossBarrier(
                model, optimizer, model.named_parameters()),
            "cross barrier of one that was wrapped": lambda optimizer, model:
                cross_barrier.CrossBarrier(model, bps.DistributedOptimizer(optimizer)),
        }
        for name, wrap in ways.items():
            self.assertTrue(torch.equal(self.in_sync(wrap), expected), name)
        os.environ["STRETTO_STAGE"] = "1"  # As for gradients on a GPU.
        self.addCleanup(os.environ.pop, "STRETTO_STAGE")
        for name, wrap in ways.items():
            self.assertTrue(torch.equal(self.in_sync(wrap), expected), f"{name}, staged")

    def test_parallel_module(self):
        model = DistributedDataParallel(perceptron(self.rank), device_ids=[0])
        train(model, sgd(model))
        self.assertTrue(torch.equal(weights(model), self.plain()))
        self.assertTrue(all(name.startswith("module.") for name in model.state_dict()))

    def test_parallel_module_with_buffers_and_unused_layers(self):
        class Sometimes(nn.Module):
            """Alternates between two layers, differently at every worker."""

            def __init__(self):
                super().__init__()
                self.body = perceptron(st.rank(), batch_norm=True)
                self.branches = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
                self.steps = 0

            def forward(self, inputs):
                """The body, and one branch."""
                self.steps += 1
                return self.branches[(self.steps + st.rank()) % 2](self.body(inputs))

        model = DistributedDataParallel(Sometimes(), device_ids=[0])
        train(model, sgd(model))
        self.assert_alike(model)
        model(data(0, 0)[0])  # Its buffers become those of rank 0.
        means = st.allgather(model.module.body[1].num_batches_tracked.view(1))
        self.assertEqual(len(set(means.tolist())), 1)

    def test_accumulated_without_exchange(self):
        model = DistributedDataParallel(perceptron(self.rank), device_ids=[0])
        optimizer = sgd(model)
        inputs, targets = data(0, self.rank)
        with model.no_sync():
            nn.functional.mse_loss(model(inputs), targets).backward()
        own = model.module[0].weight.grad.clone()
        rows = st.allgather(own.view(1, -1))
        self.assertFalse(torch.equal(rows[0], rows[1]))
        nn.functional.mse_loss(model(inputs), targets).backward()
        rows = st.allgather(model.module[0].weight.grad.view(1, -1))
        self.assertTrue(torch.equal(rows[0], rows[1]))
        optimizer.step()
        self.assert_alike(model)

    def test_passes_and_clipping(self):
        model = perceptron(self.rank)
        optimizer = bps.DistributedOptimizer(shared(model), model.named_parameters(),
                                             backward_passes_per_step=2)
        for step in range(4):
            optimizer.zero_grad()
            for half in range(2):
                inputs, targets = data(2 * step + half, self.rank)
                nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.synchronize()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            self.assertEqual(len(set(st.allgather(norm.view(1)).tolist())), 1)
            with optimizer.skip_synchronize():
                optimizer.step()
        self.assert_alike(model)
        optimizer.set_backward_passes_per_step(1)
        train(model, optimizer, 2)
        self.assert_alike(model)

    def test_a_step_that_synchronizes_again_warns(self):
        def begin(optimizer, model):
            optimizer.zero_grad()
            model(torch.ones(3, 12)).sum().backward()
            optimizer.synchronize()

        for layerwise in (False, True):
            model = perceptron(self.rank)
            optimizer = st.DistributedOptimizer(shared(model), model.named_parameters(),
                                                model=model if layerwise else None)
            begin(optimizer, model)
            with self.assertWarnsRegex(UserWarning, "step.. called without .*skip_synchronize"):
                optimizer.step()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                begin(optimizer, model)
                with optimizer.skip_synchronize():
                    optimizer.step()
                begin(optimizer, model)
                optimizer.zero_grad()  # Skips this step.
                model(torch.ones(3, 12)).sum().backward()
                optimizer.step()
            optimizer.finish()

    def test_names_of_two_optimizers_never_meet(self):
        """Of the first two optimizers of a process: the third layer of the first one's model, and
        the only layer of the second one's, were both called 2.weight."""
        models = (nn.Sequential(nn.Linear(12, 4), nn.Tanh(), nn.Linear(4, 3)), nn.Linear(12, 3))
        for mode in ("eager", "sync"):
            wrapped = []
            for model in models:
                bps.broadcast_parameters(model.state_dict(), root_rank=0)
                sgd = torch.optim.SGD(model.parameters(), lr=0.1)
                wrapped.append(st.DistributedOptimizer(sgd, model.named_parameters(), mode=mode))
            for step in range(3):
                inputs, targets = data(step, bps.rank())
                for model, optimizer in zip(models, wrapped):
                    optimizer.zero_grad()
                    (model(inputs) - targets).square().mean().backward()
                    optimizer.step()
            for model, optimizer in zip(models, wrapped):
                optimizer.finish()
                self.assert_alike(model)

    def test_misuse(self):
        model = perceptron(self.rank)
        optimizer = bps.DistributedOptimizer(shared(model), model.named_parameters())
        inputs, targets = data(0, self.rank)
        nn.functional.mse_loss(model(inputs), targets).backward()
        with self.assertRaisesRegex(AssertionError, "race condition"):
            optimizer.zero_grad()
        with self.assertRaisesRegex(AssertionError, "more than backward_passes_per_step"):
            nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        self.assert_alike(model)

    def test_schedules(self):
        found = []
        for before in (True, False):
            model = perceptron(self.rank)
            optimizer = shared(model)
            if before:
                schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
            optimizer = bps.DistributedOptimizer(optimizer, model.named_parameters())
            if not before:
                schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
            for _ in range(3):
                train(model, optimizer, 3)
                schedule.step()
            self.assert_alike(model)
            found.append(weights(model))
        self.assertTrue(torch.equal(*found))

    def test_schedules_after_loading(self):
        """A schedule continues to change the rate of a wrapped optimizer whose state was loaded."""
        ways = {mode: lambda optimizer, model, mode=mode: st.DistributedOptimizer(
            optimizer, model.named_parameters(), mode=mode) for mode in st.MODES}
        ways["layer by layer"] = lambda optimizer, model: st.DistributedOptimizer(
            optimizer, model.named_parameters(), model=model)
        ways["staleness"] = lambda optimizer, model: bps.DistributedOptimizer(
            optimizer, model.named_parameters(), staleness=1)
        for name, wrap in ways.items():
            model = perceptron(self.rank)
            inside = shared(model)
            schedule = torch.optim.lr_scheduler.StepLR(inside, 1, 0.5)
            optimizer = wrap(inside, model)
            bps.broadcast_optimizer_state(optimizer, root_rank=0)
            train(model, optimizer, 2)
            inside.load_state_dict(optimizer.state_dict())
            schedule.step()
            if self.rank == 0:
                optimizer.load_state_dict(optimizer.state_dict())
            train(model, optimizer, 1)
            schedule.step()
            train(model, optimizer, 1)
            optimizer.finish()
            self.assertEqual(optimizer.param_groups[0]["lr"], 0.05 / 4, name)
            self.assertIs(optimizer.state[model[0].weight], inside.state[model[0].weight])
            self.assertEqual(copy.deepcopy(optimizer).param_groups[0]["lr"], 0.05 / 4, name)
            if name != "staleness":  # prepare_stale_states() makes its last step.
                self.assert_alike(model)

    def alone_with_closure(self, kind):
        """Losses and calls of one process with the data of all workers, and its weights."""
        model = perceptron(0)
        optimizer = kind(model.parameters(), lr=0.05)
        calls = 0

        def closure():
            nonlocal calls
            calls += 1
            optimizer.zero_grad()
            losses = [nn.functional.mse_loss(model(inputs), targets)
                      for inputs, targets in (data(0, rank) for rank in range(st.size()))]
            loss = sum(losses) / st.size()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(5)]
        return torch.tensor(losses), calls, weights(model)

    def test_closure(self):
        """Called as often as the mean loss requires, be it a tensor or a number; losses and weights
        are those of one process with all data, so neither is a sum."""
        for kind in (torch.optim.SGD, torch.optim.LBFGS):
            expected, expected_calls, expected_weights = self.alone_with_closure(kind)
            for result in (float, torch.Tensor.detach):
                model = perceptron(self.rank)
                optimizer = bps.DistributedOptimizer(kind(model.parameters(), lr=0.05),
                                                     model.named_parameters())
                bps.broadcast_parameters(model.state_dict(), 0)
                inputs, targets = data(0, self.rank)
                calls = 0

                def closure():
                    nonlocal calls
                    calls += 1
                    optimizer.zero_grad()
                    loss = nn.functional.mse_loss(model(inputs), targets)
                    loss.backward()
                    return result(loss)

                losses = [optimizer.step(closure) for _ in range(5)]
                self.assertIsInstance(losses[0], float if result is float else torch.Tensor)
                losses = torch.tensor([float(loss) for loss in losses])
                self.assertTrue(torch.allclose(losses, expected, rtol=1e-5), (losses, expected))
                self.assertEqual(calls, expected_calls)
                self.assertTrue(torch.allclose(weights(model), expected_weights, rtol=1e-5))
                self.assert_alike(model)

    def test_staleness(self):
        """One step late, bit-identical to one process with the mean gradients."""
        warm_up = 2
        model = perceptron(self.rank)
        optimizer = bps.DistributedOptimizer(shared(model), model.named_parameters(), staleness=1,
                                             pipesgd_warmup_iter=warm_up)
        train(model, optimizer)
        optimizer.prepare_stale_states()
        self.assert_alike(model)
        alone = perceptron(0)
        plain, waiting = sgd(alone), None
        for step in range(STEPS):
            means = self.mean_gradients(alone, step)
            due, waiting = (means, None) if step < warm_up else (waiting, means)
            self.apply(alone, plain, due)
        self.apply(alone, plain, waiting)
        if bps.size() == 2:  # With three, the order of adding up differs from one process.
            self.assertTrue(torch.equal(weights(model), weights(alone)))

    def test_staleness_compressed(self):
        """With fp16: the sums are those of rounded gradients, and so not quite the same."""
        found = []
        for compression in (bps.Compression.none, bps.Compression.fp16):
            found.append(self.in_sync(lambda optimizer, model: bps.DistributedOptimizer(
                optimizer, model.named_parameters(), compression=compression,
                staleness=1), 20))
        self.assertFalse(torch.equal(*found))
        self.assertTrue(torch.allclose(*found, atol=1e-2))

    def mean_gradients(self, model, step):
        """The mean over the data of all workers."""
        total = [torch.zeros_like(parameter) for parameter in model.parameters()]
        for rank in range(bps.size()):
            inputs, targets = data(step, rank)
            loss = nn.functional.mse_loss(model(inputs), targets)
            for mean, gradient in zip(total, torch.autograd.grad(loss, model.parameters())):
                mean += gradient
        return [mean / bps.size() for mean in total]

    def apply(self, model, optimizer, gradients):
        """A step by these gradients, if there are any."""
        if gradients is not None:
            for parameter, gradient in zip(model.parameters(), gradients):
                parameter.grad = gradient
            optimizer.step()

    def test_compressed(self):
        self.in_sync(lambda optimizer, model: bps.DistributedOptimizer(
            optimizer, model.named_parameters(), compression=bps.Compression.fp16))

    def loss(self, model):
        """On data that no worker trained with."""
        inputs, targets = data(10**6, 0)
        return float(nn.functional.mse_loss(model(inputs), targets))

    def test_other_modes(self):
        for mode in ("eager", "bounded", "async", "eager_async"):
            model = perceptron(self.rank)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
            bps.broadcast_parameters(model.state_dict(), root_rank=0)
            optimizer = st.DistributedOptimizer(optimizer, model.named_parameters(), mode=mode)
            train(model, optimizer, 200)
            optimizer.finish()
            self.assert_alike(model)
            self.assertLess(self.loss(model), 0.5, mode)
            with self.assertRaisesRegex(RuntimeError, "nothing to synchronize"):
                optimizer.synchronize()

    def test_compensated(self):
        for mode in ("bounded", "async", "eager_async"):
            model = perceptron(self.rank)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
            bps.broadcast_parameters(model.state_dict(), root_rank=0)
            optimizer = st.DistributedOptimizer(optimizer, model.named_parameters(), mode=mode,
                                                lr_rule="compensated")
            train(model, optimizer, 200)
            optimizer.finish()
            self.assert_alike(model)
            self.assertLess(self.loss(model), 0.5, mode)
            with self.assertRaisesRegex(ValueError, "takes no closure"):
                optimizer.step(lambda: None)

    def test_compensation_is_for_what_others_did(self):
        """g + 0.04 * g * g * (now - then), in which another worker has added 3."""
        weight = nn.Parameter(torch.ones(4))
        optimizer = torch.optim.SGD([weight], lr=1.0)
        optimizer = st.DistributedOptimizer(optimizer, [("w", weight)], mode="async",
                                            lr_rule="compensated")
        weight.grad = torch.zeros(4)
        optimizer.step()  # The initial values are those of rank 0.
        st.barrier()
        if self.rank == 0:
            st.barrier()
        weight.grad = torch.full((4,), 2.0 if self.rank == 0 else -3.0)
        optimizer.step()
        if self.rank == 0:
            self.assertTrue(torch.allclose(weight.grad, torch.full((4,), 2 + 0.04 * 4 * 3)))
        else:
            self.assertTrue(torch.equal(weight.grad, torch.full((4,), -3.0)))
            st.barrier()
        optimizer.finish()
        self.assertTrue(torch.allclose(weight, torch.full((4,), 1 + 3 - 2.48)))


def main():
    """Runs everything; the first failure ends the process, and so the job."""
    global ARGUMENTS
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--resnet", action="store_true")
    parser.add_argument("tests", nargs="*")
    ARGUMENTS = parser.parse_args()
    torch.use_deterministic_algorithms(True)
    work.run_tests(ARGUMENTS.tests)
    if dist.is_initialized():
        dist.destroy_process_group()
    print("done", flush=True)


if __name__ == "__main__":
    main()
