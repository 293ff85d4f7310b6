# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of memory_test.py: calls whose tensors have another size each time,
and models that are wrapped and dropped, leave the memory of servers and workers unchanged.
"""

import gc
import os
import pathlib
import unittest

import torch
from torch import nn

import stretto.horovod.torch as hvd
import stretto.torch as st
import work

CALLS, FEW_CALLS = 200, 20
MODELS, FEW_MODELS = 24, 6
MOST_GROWTH = 1.25  # Data in flight varies; a leak makes it 3 and more.


def _resident(process):
    pages = pathlib.Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _mixed(number):
    """The numbers of calls in another order: sizes do not only grow."""
    return 73 * number % CALLS


def _is_server(folder):
    try:
        fields = (folder / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        name = (folder / "comm").read_text(encoding="ascii").strip()
    except OSError:
        return False  # The process has ended.
    return name == "stretto-server" and int(fields[1]) == os.getppid()


def _servers():
    """The job's servers, which this process's launcher has started."""
    return [int(folder.name) for folder in pathlib.Path("/proc").glob("[0-9]*")
            if _is_server(folder)]


class Memory(unittest.TestCase):

    def setUp(self):
        self.rank, self.size = st.rank(), st.size()
        self.ranks = sum(range(self.size))

    def assert_flat(self, call, few, calls):
        """Memory after all these calls is equal to memory after some of them."""
        def resident():
            st.barrier()
            found = {f"server {server}": _resident(server) for server in _servers()}
            return found | {"this worker": _resident(os.getpid())}

        for number in range(few):
            call(number)
        before = resident()
        self.assertGreater(len(before), 1, "no server is found")
        for number in range(few, calls):
            call(number)
        after = resident()
        for process, bytes_ in before.items():
            self.assertLess(after[process] / bytes_, MOST_GROWTH,
                            f"{process} had {bytes_ >> 20} MiB, and has {after[process] >> 20}")

    def test_gathers(self):
        def gather(number):
            least = 60_000 + 100 * _mixed(number)
            rows = least + self.rank
            mine = torch.full((rows,), float(self.rank), requires_grad=number % 4 == 0)
            found = st.allgather(mine)
            self.assertEqual(found.numel(), self.size * least + self.ranks)
            self.assertEqual((found[0].item(), found[-1].item()), (0, self.size - 1))
            if mine.requires_grad:
                found.sum().backward()
                self.assertTrue((mine.grad == self.size).all())

        self.assert_flat(gather, FEW_CALLS, CALLS)

    def test_reductions(self):
        def reduce(number):
            size = 100_000 + 501 * _mixed(number)
            mean = hvd.allreduce(torch.arange(float(size)) + self.rank)
            wanted = torch.arange(float(size)) + self.ranks / self.size
            self.assertTrue(torch.equal(mean, wanted))

        self.assert_flat(reduce, FEW_CALLS, CALLS)

    def test_broadcasts(self):
        def broadcast(number):
            shape = (100 + number % 7, 300 + _mixed(number))
            mine = torch.full(shape, float(number + self.rank))
            found = (st, hvd)[number % 2].broadcast(mine, 1)
            self.assertTrue(torch.equal(found, torch.full(shape, number + 1.0)))

        self.assert_flat(broadcast, FEW_CALLS, CALLS)

    def test_modules(self):
        def train(number):
            torch.manual_seed(number + self.rank)
            model = st.DistributedDataParallel(
                nn.Sequential(nn.Linear(1000, 500), nn.BatchNorm1d(500)))
            weight = model.module[0].weight.detach().clone()
            st.broadcast_(weight, 0, "weight")
            self.assertTrue(torch.equal(weight, model.module[0].weight))
            x = torch.full((4, 1000), float(self.rank + 1))
            (model.module[0].weight.sum() * x.mean() + 0 * model(x).sum()).backward()
            mean = (self.ranks + self.size) / self.size
            self.assertTrue(torch.allclose(model.module[0].weight.grad,
                                           torch.full((500, 1000), mean)))
            del model
            gc.collect()

        self.assert_flat(train, FEW_MODELS, MODELS)

    def test_optimizers(self):
        def train(number):
            model = nn.Linear(1000, 500, bias=False)
            nn.init.zeros_(model.weight)
            optimizer = st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                                model.named_parameters())
            for _ in range(number % 3 + 1):
                optimizer.zero_grad()
                (model.weight.sum() * (self.rank + 1)).backward()
                optimizer.step()
            mean = (self.ranks + self.size) / self.size
            self.assertTrue((model.weight == -mean * (number % 3 + 1)).all())
            del model, optimizer
            gc.collect()

        self.assert_flat(train, FEW_MODELS, MODELS)

    def test_optimizers_that_workers_drop_at_other_times(self):
        kept = []

        def train(number):
            model = nn.Linear(1000, 500, bias=False)
            nn.init.zeros_(model.weight)
            optimizer = st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                                model.named_parameters())
            for _ in range(2):
                optimizer.zero_grad()
                (model.weight.sum() * (self.rank + number)).backward()
                optimizer.step()
                mean = (self.ranks + self.size * number) / self.size
                self.assertTrue((model.weight.grad == mean).all())
            if self.rank == 0:
                kept.append(optimizer)
            del model, optimizer
            del kept[:number % 3 // 2 * len(kept)]  # Every third time, all of them.
            gc.collect()

        self.assert_flat(train, FEW_MODELS, MODELS)


if __name__ == "__main__":
    work.run_tests()
    print("done", flush=True)
