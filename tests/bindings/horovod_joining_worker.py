# SPDX-License-Identifier: Apache-2.0
"""A worker with less data than its peers, or more: it calls join(), and its peers' calls meanwhile
are checked."""

import unittest

import torch

import work

import stretto.horovod.torch as hvd
from stretto import errors


def sums_without(absent, kind=torch.float32):
    """The sums of ones and of ranks without these workers."""
    here = [rank for rank in range(hvd.size()) if rank not in absent]
    return torch.tensor([len(here), sum(here)], dtype=kind)


class Join(unittest.TestCase):

    def test_sums_lack_who_has_joined_and_means_count_it_as_zeros(self):
        rank, size = hvd.rank(), hvd.size()
        for first in range(size):
            for kind in (torch.float32, torch.int64, torch.float16):
                mine = torch.tensor([1, rank], dtype=kind)
                if rank != first:
                    expected = sums_without({first}, kind)
                    for name in (None, "once", "once"):
                        found = hvd.allreduce(mine, name=name, op=hvd.Sum)
                        self.assertEqual(found.tolist(), expected.tolist())
                    if kind == torch.float32:
                        mean = hvd.allreduce(mine, name="mean")
                        self.assertTrue(torch.allclose(mean, expected / size), mean)
                    least = hvd.allreduce(mine, op=hvd.Min, name="least")
                    self.assertEqual(least[1].item(), 1 if first == 0 else 0)
                last = hvd.join()
                self.assertNotEqual(last, first)
                self.assertEqual(hvd.allgather_object(last), [last] * size)

    def test_large_tensors_of_many_parts(self):
        rank = hvd.rank()
        if rank == 0:
            for _ in range(3):
                found = hvd.allreduce(torch.ones(3_000_000), op=hvd.Sum, name="large")
                self.assertEqual(found.sum().item(), 3_000_000 * len([0]))
        self.assertEqual(hvd.join() == 0, True)
        self.assertEqual(hvd.allreduce(torch.ones(2), op=hvd.Sum).tolist(), [hvd.size()] * 2)

    def test_what_needs_all_is_told_so_and_goes_on_afterwards(self):
        if hvd.rank() == 0:
            for call in (lambda: hvd.allgather(torch.ones(2)), lambda: hvd.barrier(),
                         lambda: hvd.broadcast(torch.ones(2), 0),
                         lambda: hvd.broadcast_parameters({"w": torch.ones(2)}, 0)):
                hvd.allreduce(torch.ones(1))  # By now the peers have joined.
                with self.assertRaisesRegex(errors.Mismatch, "sit"):
                    call()
        hvd.join()
        hvd.barrier()
        self.assertEqual(hvd.broadcast(torch.ones(2), 0).tolist(), [1, 1])

    def test_unlike_calls_are_told_while_somebody_sits_out(self):
        rank = hvd.rank()
        if rank > 0:
            call = hvd.allreduce if rank == 1 else hvd.allgather
            with self.assertRaisesRegex(errors.Mismatch, "the call is all.* here and all.* there"):
                call(torch.ones(1), name="unlike")
        hvd.join()

    def test_epochs_of_other_lengths_train_one_model(self):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                             model.named_parameters())
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        for epoch in range(3):
            steps = 0 if epoch == 0 and hvd.rank() == 1 else 2 + (hvd.rank() + epoch) % 3
            for _ in range(steps):
                optimizer.zero_grad()
                model(torch.rand(5, 4)).mean().backward()
                optimizer.step()
            hvd.join()
            hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        optimizer.zero_grad()
        model(torch.ones(5, 4)).mean().backward()
        optimizer.step()
        everybody = hvd.allgather(model[0].weight.detach().unsqueeze(0))
        for other in everybody:
            self.assertTrue(torch.equal(other, everybody[0]))


if __name__ == "__main__":
    work.run_tests()
    print("done", flush=True)
