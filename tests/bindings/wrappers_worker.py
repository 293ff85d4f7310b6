# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of wrappers_test.py: modules and optimizers that change after they
were wrapped, or that are wrapped again. Prints "done" if all was right.
"""

import gc
import sys
import unittest
import weakref

import torch
from torch import nn

import stretto.torch as st
import work
from byteps.torch.parallel import DistributedDataParallel


class Scale(nn.Module):
    """Multiplies by a weight, in each type that a CPU adds and multiplies."""

    def __init__(self, size=5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, inputs):
        """The sum of the products."""
        return (self.weight * inputs.to(self.weight.dtype)).float().sum()


def mine():
    """Inputs of this worker, which are the gradients of a Scale."""
    return torch.arange(5.0) + st.rank()


def everybodys():
    """The mean of all workers' inputs."""
    return torch.arange(5.0) + (st.size() - 1) / 2


class Moved(unittest.TestCase):
    """Types that change after a module was wrapped."""

    def assert_exchanges(self, model, module):
        """Checks in two successive steps that backward() sets the gradient to the mean over all
        workers."""
        for _ in range(2):
            module.zero_grad()
            model(mine()).backward()
            self.assertEqual(module.weight.grad.float().tolist(), everybodys().tolist())

    def check(self, wrap, move):
        """Checks a wrapped module that is moved before its first step, and after a step."""
        for steps in (0, 1):
            module = Scale()
            model = wrap(module)
            for _ in range(steps):
                model(mine()).backward()
            move(model)
            self.assert_exchanges(model, module)

    def test_ddp_exchanges_in_another_type(self):
        for move in (nn.Module.double, nn.Module.half, nn.Module.bfloat16):
            with self.subTest(move.__name__):
                self.check(st.DistributedDataParallel, move)

    def test_ddp_exchanges_in_its_type_again(self):
        self.check(st.DistributedDataParallel, lambda module: module.half().float())

    def test_byteps_ddp_exchanges_in_another_type(self):
        self.check(lambda module: DistributedDataParallel(module, [0]), nn.Module.double)

    def test_ddp_exchanges_what_its_module_computes(self):
        module = Scale()
        model = st.DistributedDataParallel(module)
        model.double()
        self.assert_exchanges(module, module)

    def test_optimizer_sends_within_backward(self):
        module = Scale()
        optimizer = st.DistributedOptimizer(torch.optim.SGD(module.parameters(), lr=1.0),
                                            module.named_parameters())
        module.half().float()
        for _ in range(2):
            optimizer.zero_grad()
            module(mine()).backward()
            self.assertTrue(optimizer._stretto_exchange.begun)
            optimizer.step()
        self.assertEqual(module.weight.tolist(), (1 - 2 * everybodys()).tolist())


def step(module, optimizer):
    """A step by the inputs of this worker."""
    optimizer.zero_grad()
    module(mine()).backward()
    optimizer.step()


class Trainer:
    """A program's object that its own cycle keeps until the collector finds it."""

    def __init__(self, module):
        self.itself = self
        self.model = st.DistributedDataParallel(module)


class Dropped(unittest.TestCase):
    """Wrappers that are dropped, or replaced. Rank 0 collects no cycles, other ranks often."""

    def setUp(self):
        gc.disable()
        self.addCleanup(gc.enable)

    def tearDown(self):
        st.barrier()  # No worker waits for data that a peer never sends.

    @staticmethod
    def collect():
        """Collects at all ranks but 0."""
        if st.rank() != 0:
            gc.collect()

    def assert_gone(self, references):
        self.assertEqual([each() for each in references], [None] * len(references))

    def test_ddp_goes_when_dropped(self):
        for wrap in (st.DistributedDataParallel,
                     lambda module: DistributedDataParallel(module, [0])):
            model = wrap(Scale())
            model(mine()).backward()
            references = [weakref.ref(each) for each in (
                model, model._exchange, model.module, model.module.weight)]
            del model
            self.assert_gone(references)

    def test_optimizers_go_when_dropped(self):
        wraps = [lambda sgd, module, options=options: st.DistributedOptimizer(
            sgd, module.named_parameters(), **options) for options in (
                {}, {"mode": "delayed", "stale": 1}, {"mode": "eager"}, {"mode": "bounded"})]
        wraps += [lambda sgd, module, every=every: st.LocalSteps(
            sgd, module.named_parameters(), every=every) for every in (1, 2)]
        wraps.append(lambda sgd, module: st.DistributedOptimizer(
            sgd, module.named_parameters(), model=module))
        for number, wrap in enumerate(wraps):
            with self.subTest(number):
                module = Scale()
                optimizer = wrap(torch.optim.SGD(module.parameters(), lr=1.0), module)
                for _ in range(2):
                    step(module, optimizer)
                optimizer.finish()
                references = [weakref.ref(each) for each in (
                    optimizer, optimizer._stretto_exchange, module, module.weight)]
                del optimizer, module
                self.assert_gone(references)

    def test_dropped_ddp_exchanges_nothing(self):
        module = Scale()
        st.DistributedDataParallel(module)(mine()).backward()
        module.zero_grad()
        if st.rank() == 0:
            module(mine()).backward()
            self.assertEqual(module.weight.grad.tolist(), mine().tolist())

    def test_ddp_wraps_again_300_times(self):
        module = Scale()
        for number in range(300):
            model = st.DistributedDataParallel(module)
            module.zero_grad()
            model(mine()).backward()
            self.assertEqual(module.weight.grad.tolist(), everybodys().tolist())
            if number % 7 == 0:
                self.collect()

    def test_new_ddp_replaces_one_in_a_cycle(self):
        module = Scale()
        for _ in range(5):
            trainer = Trainer(module)
            module.zero_grad()
            trainer.model(mine()).backward()
            self.assertEqual(module.weight.grad.tolist(), everybodys().tolist())
            del trainer
            self.collect()

    def test_optimizer_wraps_again_each_epoch(self):
        module = Scale()
        inner = torch.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(5):
            optimizer = st.DistributedOptimizer(inner, module.named_parameters())
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=4,
                                                           cycle_momentum=False)
            for _ in range(3):
                before = module.weight.detach().clone()
                step(module, optimizer)
                rate = inner.param_groups[0]["lr"]
                self.assertTrue(torch.allclose(module.weight, before - rate * everybodys()))
                schedule.step()
            del optimizer, schedule
            self.collect()

    def test_model_keeps_no_hooks_of_dropped_optimizers(self):
        module = Scale()
        inner = torch.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(3):
            optimizer = st.DistributedOptimizer(inner, module.named_parameters(), model=module)
            step(module, optimizer)
        optimizer.finish()
        self.assertEqual(len(module._forward_pre_hooks), 2)

    def test_older_wrappers_refuse(self):
        module = Scale()
        model = st.DistributedDataParallel(module)
        sgd = torch.optim.SGD(module.parameters(), lr=1.0)
        older = st.DistributedOptimizer(sgd, module.named_parameters())
        with self.assertRaisesRegex(ValueError, "were wrapped again since"):
            model(mine())
        newer = st.DistributedOptimizer(sgd, module.named_parameters())
        step(module, newer)
        self.assertEqual(module.weight.tolist(), (1 - everybodys()).tolist())
        for use in (older.step, older.synchronize):
            with self.assertRaisesRegex(ValueError, "were wrapped again since"):
                use()
        with torch.no_grad():
            model(mine())


class Rotation(nn.Module):
    """Has complex buffers of this worker, a single value and a conjugate view."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        angles = torch.arange(3.0) + st.rank()
        self.register_buffer("turns", torch.polar(torch.ones(3), angles))
        self.register_buffer("back", torch.polar(torch.ones(20000), torch.ones(20000)
                                                 + st.rank()).conj())

    def forward(self, inputs):
        """A number that depends on buffers."""
        return (self.weight * inputs * self.turns.real).sum()


class Complex(unittest.TestCase):

    def assert_first(self, module):
        """The module's buffers are those of worker 0."""
        first = torch.polar(torch.ones(3), torch.arange(3.0))
        self.assertTrue(torch.allclose(module.turns, first), module.turns)
        self.assertTrue(torch.allclose(module.back[:3].imag, -torch.sin(torch.ones(3))))

    def test_broadcast_copies_complex_parameters(self):
        module = Rotation()
        st.broadcast_parameters(module.state_dict(), root_rank=0)
        self.assert_first(module)

    def test_ddp_copies_complex_buffers(self):
        module = Rotation()
        model = st.DistributedDataParallel(module)
        self.assert_first(module)
        for _ in range(2):
            with torch.no_grad():
                module.turns += st.rank()
            model(torch.ones(3)).backward()
        self.assert_first(module)


class Raised(unittest.TestCase):
    """The first backward of worker 1 raises after one of two gradients; with the remedy in the next
    error this worker's step equals its peers'."""

    def skipped(self, module, model, remedy):
        """Worker 1 skips a batch, computes the next batch, and gets an error with the remedy."""
        def fail(_):
            raise ArithmeticError

        if st.rank() == 1:
            hook = module[0].weight.register_hook(fail)
            with self.assertRaises(ArithmeticError):
                model(mine()).backward()
            hook.remove()
            module.zero_grad()
            with self.assertRaisesRegex(AssertionError, remedy):
                model(mine()).backward()
        else:
            model(mine()).backward()

    def assert_alike(self, module):
        """Parameters are equal, also after another step."""
        for parameter in module.parameters():
            rows = st.allgather(parameter.detach().view(1, -1))
            self.assertTrue(torch.equal(rows[0], rows[1]), rows)

    def test_optimizer_steps_with_others(self):
        module = nn.Sequential(nn.Linear(5, 5, bias=False), Scale())
        st.broadcast_parameters(module.state_dict(), root_rank=0)
        optimizer = st.DistributedOptimizer(torch.optim.SGD(module.parameters(), lr=0.1),
                                            module.named_parameters())
        self.skipped(module, module, r"a backward that raised an exception, call step\(\)")
        optimizer.step()
        self.assert_alike(module)
        step(module, optimizer)
        self.assert_alike(module)

    def test_ddp_synchronizes_and_steps_with_others(self):
        module = nn.Sequential(nn.Linear(5, 5, bias=False), Scale())
        model = st.DistributedDataParallel(module)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        self.skipped(module, model, r"call synchronize\(\) of the DistributedDataParallel")
        if st.rank() == 1:  # At rank 0 backward has done so.
            model.synchronize()
        optimizer.step()
        self.assert_alike(module)
        module.zero_grad()
        model(mine()).backward()
        optimizer.step()
        self.assert_alike(module)


if __name__ == "__main__":
    work.run_tests(sys.argv[1:])
    print("done", flush=True)
