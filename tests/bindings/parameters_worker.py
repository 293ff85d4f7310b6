# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of parameters_test.py: parameters that have two names, are frozen
for a while, or have sparse gradients. Prints "done" if all results are right.
"""

import unittest

import torch
from torch import nn

import byteps.torch as bps
import stretto.torch as st
import training_worker
import work


class Parameters(unittest.TestCase):

    assert_alike = training_worker.Training.assert_alike

    def setUp(self):
        self.rank = st.rank()

    def test_one_parameter_of_two_names(self):
        """It travels once, by its first name."""
        for mode in st.MODES:
            layer = nn.Linear(300, 300, bias=False)
            nn.init.zeros_(layer.weight)
            towers = nn.Sequential(layer), nn.Sequential(layer)
            named = [(f"{number}.{name}", parameter) for number, tower in enumerate(towers)
                     for name, parameter in tower.named_parameters()]
            optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
            optimizer = st.DistributedOptimizer(optimizer, named, mode=mode, lr_rule="constant")
            for _ in range(5):
                optimizer.zero_grad()
                (layer.weight.sum() * (self.rank + 1)).backward()
                optimizer.step()
            optimizer.finish()
            total = -5.0 * sum(range(1, st.size() + 1))
            expected = total / st.size() if mode in ("sync", "eager", "delayed") else total
            self.assertEqual(layer.weight.unique().tolist(), [expected], mode)

    def test_freezing_for_some_steps(self):
        """A frozen layer stays unchanged, as in one process with the same data."""
        ways = {
            "all": lambda optimizer, model: (st.DistributedOptimizer(
                optimizer, model.named_parameters()), model),
            "layer by layer": lambda optimizer, model: (st.DistributedOptimizer(
                optimizer, model.named_parameters(), model=model), model),
            "module": lambda optimizer, model: (optimizer, st.DistributedDataParallel(model)),
            "alone": lambda optimizer, model: (optimizer, model),
        }
        for width in (20, 400):  # Gradients that travel together, and alone.
            found = {}
            for name, wrap in ways.items():
                torch.manual_seed(0)
                model = nn.Sequential(nn.Linear(12, width), nn.Tanh(), nn.Linear(width, 3))
                optimizer, called = wrap(torch.optim.AdamW(model.parameters(), lr=0.1), model)
                for step in range(6):
                    model[0].requires_grad_(step not in (2, 3))
                    inputs, targets = training_worker.data(step, 0)
                    optimizer.zero_grad(set_to_none=True)
                    nn.functional.mse_loss(called(inputs), targets).backward()
                    optimizer.step()
                found[name] = training_worker.weights(model)
            for name, values in found.items():
                self.assertTrue(torch.equal(values, found["alone"]), f"{name}, {width}")

    def test_frozen_at_one_worker(self):
        model = training_worker.perceptron(self.rank)
        optimizer = st.DistributedOptimizer(training_worker.shared(model), model.named_parameters())
        model[0].requires_grad_(self.rank > 0)
        inputs, targets = training_worker.data(0, self.rank)
        nn.functional.mse_loss(model(inputs), targets).backward()
        if self.rank > 0:
            optimizer.step()
        else:
            with self.assertRaisesRegex(st.errors.Mismatch, "'.*0.bias' is frozen here"):
                optimizer.step()

    def test_nothing_to_train(self):
        """No mode raises an error."""
        for mode in st.MODES:
            frozen = nn.Parameter(torch.ones(2), requires_grad=False)
            optimizer = st.DistributedOptimizer(torch.optim.SGD([frozen], lr=0.1),
                                                [("frozen", frozen)], mode=mode)
            for _ in range(2):
                optimizer.step()
            optimizer.finish()
            self.assertEqual(frozen.tolist(), [1, 1])

    def test_sparse_gradients(self):
        torch.manual_seed(self.rank)
        model = nn.Embedding(10, 4, sparse=True)
        bps.broadcast_parameters(model.state_dict(), root_rank=0)
        optimizer = st.DistributedOptimizer(torch.optim.SparseAdam(model.parameters(), lr=0.1),
                                            model.named_parameters())
        with self.assertWarnsRegex(RuntimeWarning, "sparse") as warned:
            for step in range(5):
                optimizer.zero_grad()
                model(torch.tensor([step, step + self.rank])).sum().backward()
                optimizer.step()
        self.assertEqual(warned.filename, __file__)
        self.assert_alike(model)

    def test_sparse_gradients_of_what_not_all_use(self):
        """A mean is sparse also at workers that did not use the layer, and equal at all workers."""
        kinds = {"SparseAdam": torch.optim.SparseAdam, "Adagrad": torch.optim.Adagrad}
        for name, kind in kinds.items():
            for parallel in (False, True):
                torch.manual_seed(0)
                model = nn.ModuleList([nn.Embedding(50, 37, sparse=True) for _ in range(3)])
                before = training_worker.weights(model[2])
                optimizer = kind(model.parameters(), lr=0.1)
                if parallel:
                    owner = st.DistributedDataParallel(model)
                else:
                    owner = optimizer = st.DistributedOptimizer(optimizer,
                                                                model.named_parameters())
                for step in range(6):  # Layer 0 is used later than 1, and once by no worker.
                    optimizer.zero_grad(set_to_none=True)
                    layer = model[1 if step in (0, 3) else (step + self.rank) % 2]
                    scale = torch.rand(2, 37, generator=torch.Generator().manual_seed(step))
                    if self.rank == 0 or step > 0:
                        (layer(torch.tensor([step, self.rank])) * scale).sum().backward()
                    elif parallel:  # A backward that reaches neither layer.
                        owner.synchronize()
                    optimizer.step()
                self.assertTrue(all(parameter.grad.is_sparse for parameter in
                                    (model[0].weight, model[1].weight)), name)
                self.assert_alike(model)
                self.assertTrue(torch.equal(training_worker.weights(model[2]), before))


if __name__ == "__main__":
    torch.use_deterministic_algorithms(True)
    work.run_tests()
    print("done", flush=True)
