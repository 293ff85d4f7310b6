# SPDX-License-Identifier: Apache-2.0
"""Misuse of stretto.torch raises an error at the wrong call, in a single process as well as in a
job.
"""

import unittest
from unittest import mock

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position
from torch import nn  # pylint: disable=wrong-import-position

import stretto.torch as st  # pylint: disable=wrong-import-position
from stretto import session  # pylint: disable=wrong-import-position


class Misuse(unittest.TestCase):

    def setUp(self):
        st.init()
        self.addCleanup(st.shutdown)
        self.model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))

    def optimizer(self, *modules):
        parameters = [parameter for module in modules or [self.model]
                      for parameter in module.parameters()]
        return torch.optim.SGD(parameters, lr=0.1)

    def wrap(self, optimizer=None, **options):
        return st.DistributedOptimizer(optimizer or self.optimizer(),
                                       self.model.named_parameters(), **options)

    def test_no_number_and_no_name_of_a_report_is_an_error(self):
        with mock.patch.object(session.current(), "_worker") as worker:
            st.report({"\ud800": 10**400})
        worker.report.assert_called_once_with("?", float("inf"))

    def test_optimizers(self):
        with self.assertRaisesRegex(TypeError, "Sequential, wanted one of torch.optim"):
            st.DistributedOptimizer(self.model)
        with self.assertRaisesRegex(ValueError, "already; wrap the one of torch.optim, once"):
            self.wrap(self.wrap())

    def test_options(self):
        for kind, words, options in (
                (ValueError, "mode is 'fast'", {"mode": "fast"}),
                (ValueError, "lr_rule is 'square'", {"mode": "async", "lr_rule": "square"}),
                (ValueError, "staleness is -1", {"mode": "bounded", "staleness": -1}),
                (ValueError, "staleness is 1.5", {"mode": "bounded", "staleness": 1.5}),
                (ValueError, "model= is for mode 'sync'", {"mode": "eager", "model": self.model}),
                (ValueError, "compression is for mode 'sync'",
                 {"mode": "eager", "compression": st.Compression.fp16}),
                (TypeError, "compression is None", {"compression": None}),
                (TypeError, "compression is 'fp16'", {"compression": "fp16"})):
            with self.subTest(options), self.assertRaisesRegex(kind, words):
                self.wrap(**options)

    def step(self, optimizer):
        self.model(torch.ones(4, 2)).sum().backward()
        optimizer.step()

    def test_parameters_that_come_later(self):
        """Such parameters were never exchanged, and diverged between workers."""
        for mode in ("sync", "eager"):
            with self.subTest(mode):
                self.model[0].weight.requires_grad_(False)
                optimizer = self.wrap(mode=mode)
                self.step(optimizer)
                self.model[0].weight.requires_grad_(True)
                with self.assertRaisesRegex(ValueError, "parameter 0 of group 0, .* trained now"):
                    self.step(optimizer)
                optimizer = st.DistributedOptimizer(self.optimizer(self.model[0]), mode=mode)
                optimizer.add_param_group({"params": list(self.model[1].parameters())})
                with self.assertRaisesRegex(ValueError, "parameter 0 of group 1, .* trained now"):
                    self.step(optimizer)

    def test_later_in_a_layerwise_one(self):
        self.model[0].weight.requires_grad_(False)
        optimizer = self.wrap(model=self.model)
        self.model[0].weight.requires_grad_(True)
        with self.assertRaisesRegex(ValueError, "trained now"):
            self.step(optimizer)

    def test_later_in_a_parallel_module(self):
        self.model[0].weight.requires_grad_(False)
        wrapped = st.DistributedDataParallel(self.model)
        wrapped(torch.ones(4, 2)).sum().backward()
        self.model[0].weight.requires_grad_(True)
        with self.assertRaisesRegex(ValueError, "'0.weight' is trained now"):
            wrapped(torch.ones(4, 2))
        with torch.no_grad():
            wrapped(torch.ones(4, 2))
        wrapped = st.DistributedDataParallel(self.model)
        wrapped(torch.ones(4, 2)).sum().backward()

    def test_one_loop_for_all_modes(self):
        for options in ({}, {"model": self.model}, {"mode": "eager"}, {"mode": "async"}):
            optimizer = self.wrap(**options)
            self.step(optimizer)
            optimizer.finish()

    def test_exchanges(self):
        ones = torch.ones(2)
        for call in (st.push_pull, st.push_pull_, st.push_pull_async):
            for kind, words, arguments, options in (
                    (TypeError, "the tensor is a list", ([1, 2], "name"), {}),
                    (TypeError, "the name is a int", (ones, 5), {}),
                    (ValueError, "the name is empty", (ones, ""), {}),
                    (ValueError, "priority is 'high'", (ones, "name"), {"priority": "high"}),
                    (ValueError, "priority is 4294967296", (ones, "name"), {"priority": 2**32})):
                with self.subTest(call.__name__, words=words):
                    with self.assertRaisesRegex(kind, words):
                        call(*arguments, **options)
        with self.assertRaisesRegex(ValueError, "root's rank is '0'; there are ranks 0 to 0"):
            st.broadcast(ones, "0")
        with self.assertRaisesRegex(TypeError, "the tensor is a list"):
            st.broadcast([1])


if __name__ == "__main__":
    unittest.main()
