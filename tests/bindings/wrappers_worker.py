# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of wrappers_test.py: modules and optimizers that change after they
were wrapped, or that are wrapped again. Prints "done" if all was right.
"""

import sys
import unittest

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
        """Backward leaves the mean, in two steps."""
        for _ in range(2):
            module.zero_grad()
            model(mine()).backward()
            self.assertEqual(module.weight.grad.float().tolist(), everybodys().tolist())

    def check(self, wrap, move):
        """Of a wrapped module that is moved before its first step, and after one."""
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


if __name__ == "__main__":
    work.run_tests(sys.argv[1:])
    print("done", flush=True)
