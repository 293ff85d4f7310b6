# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of among_test.py: trains one model with each exchange strategy, and
compares the weights with those by servers and between the workers. Prints "done" on success.
"""

import copy
import hashlib
import os
import sys
import unittest

import torch
from torch import nn

import stretto.torch as st
import work
from stretto import errors
from stretto.torch.core import ways

STEPS = 12
# Distributes the job's workers over this number of machines, round-robin.
MACHINES = int(os.environ.get("MACHINES", "0"))
if MACHINES:
    os.environ["STRETTO_MACHINE"] = f"m{int(os.environ['STRETTO_RANK']) % MACHINES}"
AMONG = ways.EXCHANGES[1:]


def perceptron():
    """The same at each rank; one of its gradients has several parts, others are buckets."""
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(12, 900), nn.Tanh(), nn.Linear(900, 400), nn.Tanh(),
                         nn.Linear(400, 3))


def train(model, optimizer):
    """A plain loop on this rank's data; returns the weights."""
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(1000 * step + st.rank())
        inputs = torch.randn(8, 12, generator=generator)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), inputs[:, :3] * 2 - 1).backward()
        optimizer.step()
    if hasattr(optimizer, "finish"):
        optimizer.finish()
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


class Among(unittest.TestCase):

    def setUp(self):
        self.rank, self.size = st.rank(), st.size()
        self.model = perceptron()
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)

    def wrapped(self, **options):
        """The weights after training by these options."""
        model = copy.deepcopy(self.model)
        sgd = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        if options.pop("layerwise", False):
            options["model"] = model
        return train(model, st.DistributedOptimizer(sgd, model.named_parameters(), **options))

    def assert_alike(self, found, expected, what):
        """Bit-identical at all workers; two numbers have only one sum."""
        rows = st.allgather(found.view(1, -1))
        for row in rows:
            self.assertTrue(torch.equal(row, rows[0]), f"{what}: the workers' weights differ")
        if self.size == 2:
            self.assertTrue(torch.equal(found, expected), what)
        self.assertTrue(torch.allclose(found, expected, rtol=1e-3, atol=1e-5), what)

    def test_optimizers_train_as_by_servers(self):
        expected = self.wrapped()
        for way in AMONG:
            self.assert_alike(self.wrapped(exchange=way), expected, way)
            self.assert_alike(self.wrapped(exchange=way, layerwise=True), expected,
                              f"{way}, layer by layer")

    def test_what_is_printed_is_the_same_in_every_run(self):
        for way in AMONG:
            digest = hashlib.sha256(self.wrapped(exchange=way).numpy().tobytes()).hexdigest()
            print(f"by {way}: {digest}", flush=True)

    def test_modules_train_as_by_servers(self):
        expected = self.wrapped()
        for way in AMONG:
            model = st.DistributedDataParallel(copy.deepcopy(self.model), exchange=way)
            found = train(model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9))
            self.assert_alike(found, expected, way)

    def test_single_tensors(self):
        numbers = torch.arange(70_000) % 50 + self.rank
        total = sum(torch.arange(70_000) % 50 + rank for rank in range(self.size))
        for way in ways.EXCHANGES:
            for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32,
                         torch.int64, torch.bool):
                mine = numbers.to(kind)
                wanted = total if kind is not torch.bool else total > 0
                for give in (st.push_pull, st.push_pull_):
                    found = give(mine.clone(), f"{way}.{kind}", average=False, exchange=way)
                    self.assertTrue(torch.equal(found, wanted.to(kind)), f"{way} {kind}")
                found = st.push_pull_async(mine, f"{way}.{kind}", False, exchange=way).wait()
                self.assertTrue(torch.equal(found, wanted.to(kind)), f"{way} {kind}")
            mean = st.push_pull(numbers.double(), f"{way}.mean", exchange=way)
            self.assertTrue(torch.allclose(mean, total.double() / self.size), way)

    def test_gradients_flow_the_same_way(self):
        tensor = torch.full((5,), 1.0 + self.rank, requires_grad=True)
        st.push_pull(tensor, "flows", average=False, exchange="ring").sum().backward()
        self.assertEqual(tensor.grad.tolist(), [float(self.size)] * 5)

    def test_what_the_way_cannot_do_is_an_error_that_says_so(self):
        halves = torch.ones(3, dtype=torch.float16)  # To servers, which support it.
        self.assertEqual(st.push_pull(halves, "auto.narrow", exchange="auto").tolist(), [1.0] * 3)
        for way in AMONG[:-1]:
            with self.assertRaisesRegex(errors.InvalidArgument, f"exchange {way} .* use exchange "
                                        "servers"):
                st.push_pull(torch.ones(3, dtype=torch.float16), f"{way}.narrow", exchange=way)
        with self.assertRaisesRegex(ValueError, "exchange is 'star', wanted one of servers, di"):
            st.push_pull(torch.ones(3), "star", exchange="star")
        st.barrier()

    def test_who_takes_another_way_is_named(self):
        model = copy.deepcopy(self.model)
        way = "ring" if self.rank == 0 else "tree"
        optimizer = st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                            model.named_parameters(), exchange=way)
        with self.assertRaisesRegex(errors.Mismatch, "exchange is (ring|tree) here and "):
            train(model, optimizer)
        with self.assertRaisesRegex(errors.Mismatch, "by ring.*by tree|by tree.*by ring"):
            st.push_pull(torch.ones(3), "another way", exchange=way)
        st.barrier()


if __name__ == "__main__":
    work.run_tests(sys.argv[1:])
    print("done", flush=True)
