# SPDX-License-Identifier: Apache-2.0
"""Models and optimizers that are copied or saved after wrapping: averages of the weights (EMA),
checkpoints of whole objects. A copy belongs to no job: it exchanges nothing.
"""

import copy
import io
import unittest
import warnings

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position
from torch import nn  # pylint: disable=wrong-import-position

import byteps.torch as bps  # pylint: disable=wrong-import-position
import stretto.torch as st  # pylint: disable=wrong-import-position


def saved(thing):
    """The object after saving and loading."""
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


class Copies(unittest.TestCase):

    def setUp(self):
        st.init()
        self.addCleanup(st.shutdown)
        self.model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))

    def wrapped(self, wrap=st.DistributedOptimizer, **options):
        """An optimizer that has started a step."""
        optimizer = wrap(torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9),
                         self.model.named_parameters(), **options)
        self.step(self.model, optimizer)
        return optimizer

    @staticmethod
    def step(model, optimizer):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).sum().backward()
        optimizer.step()

    def assert_same_but_apart(self, other, model=None):
        """It has the same values, and trains independently."""
        before = copy.deepcopy((model or self.model).state_dict())
        for name, tensor in other.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.step(other, torch.optim.SGD(other.parameters(), lr=0.1))
        for name, tensor in (model or self.model).state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
            self.assertFalse(torch.equal(tensor, other.state_dict()[name]), name)

    def test_models_that_end_steps_by_their_layers(self):
        for duplicate in (copy.deepcopy, saved):
            optimizer = self.wrapped(model=self.model)
            other = duplicate(self.model)
            self.assert_same_but_apart(other)
            with torch.no_grad():
                other(torch.ones(4, 2))
            self.assertIs(type(other[0]._parameters), type(nn.Linear(1, 1)._parameters))
            self.step(self.model, optimizer)

    def test_optimizers(self):
        for wrap, options in ((st.DistributedOptimizer, {}),
                              (st.DistributedOptimizer, {"model": self.model}),
                              (st.DistributedOptimizer, {"mode": "eager"}),
                              (st.DistributedOptimizer, {"mode": "bounded"}),
                              (bps.DistributedOptimizer, {"staleness": 1})):
            for duplicate in (copy.deepcopy, saved):
                with self.subTest(options, duplicate=duplicate.__name__):
                    optimizer = self.wrapped(wrap, **options)
                    model, other = duplicate((self.model, optimizer))
                    self.assertIs(type(other), torch.optim.SGD)
                    self.assertIs(other.param_groups[0]["params"][0], model[0].weight)
                    before = self.model[0].weight.detach().clone()
                    self.step(model, other)
                    self.assertTrue(torch.equal(before, self.model[0].weight))
                    self.assertFalse(torch.equal(before, model[0].weight))

    def test_parallel_modules(self):
        parallel = st.DistributedDataParallel(self.model)
        self.step(parallel, torch.optim.SGD(parallel.parameters(), lr=0.1))
        for duplicate in (copy.deepcopy, saved):
            other = duplicate(parallel)
            self.assertIsInstance(other, st.DistributedDataParallel)
            with self.assertWarnsRegex(RuntimeWarning, "exchanges no gradients"):
                other(torch.ones(4, 2))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                other.eval()(torch.ones(4, 2))
                with torch.no_grad():
                    other.train()(torch.ones(4, 2))
            other.synchronize()
            with other.no_sync():
                self.assert_same_but_apart(other, parallel)

    def test_averages_of_weights(self):
        parallel = st.DistributedDataParallel(self.model)
        average = torch.optim.swa_utils.AveragedModel(parallel)
        for _ in range(2):
            self.step(parallel, torch.optim.SGD(parallel.parameters(), lr=0.1))
            average.update_parameters(parallel)
        average.eval()(torch.ones(4, 2))
        self.assertEqual(average.n_averaged, 2)


if __name__ == "__main__":
    unittest.main()
