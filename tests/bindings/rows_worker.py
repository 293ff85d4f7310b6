# SPDX-License-Identifier: Apache-2.0
"""A worker that calls stretto.torch's functions for rows, groups and several tensors at a time, and
checks the results."""

import concurrent.futures
import random
import unittest
from unittest import mock

import torch

import work

import stretto.torch as st
from stretto import _core, errors


class Rows(unittest.TestCase):

    def test_reduce_scatter_and_its_gradients(self):
        rank, size = st.rank(), st.size()
        for average, factor in ((True, 1 / size), (False, 1)):
            mine = torch.arange(size + 1.0, requires_grad=True)
            found = st.reduce_scatter(mine, average=average, name="scattered")
            rows = [0, 1] if rank == 0 else [rank + 1]
            self.assertTrue(torch.allclose(found, torch.tensor(rows) * float(size) * factor))
            (found * (rank + 1)).sum().backward()
            self.assertTrue(torch.allclose(mine.grad, factor * torch.tensor(
                [1.0] + list(range(1, size + 1)))))
        with self.assertRaisesRegex(errors.InvalidArgument, "no dimension"):
            st.reduce_scatter(torch.tensor(1.0))
        with self.assertRaisesRegex(errors.Mismatch, "tensor 0 is"):
            st.reduce_scatter(torch.ones(2 + rank))

    def test_alltoall_and_its_gradients(self):
        rank, size = st.rank(), st.size()
        mine = torch.full((rank * size,), float(rank), requires_grad=True)
        found, received = st.alltoall(mine, [rank] * size)
        self.assertEqual(received, list(range(size)))
        self.assertEqual(found.tolist(), [giver for giver in range(size) for _ in range(giver)])
        (found * (rank + 1)).sum().backward()
        self.assertEqual(mine.grad.tolist(),
                         [taker + 1 for taker in range(size) for _ in range(rank)])
        self.assertEqual(st.alltoall(torch.full((size,), rank)).tolist(), list(range(size)))

    def test_some_workers_together(self):
        rank, size = st.rank(), st.size()
        group = st.Group(range(rank % 2, size, 2))
        self.assertEqual((group.rank, group.size), (rank // 2, len(range(rank % 2, size, 2))))
        found = st.reduce_scatter(torch.ones(group.size), average=False, group=group)
        self.assertEqual(found.tolist(), [group.size])
        found = st.alltoall(torch.full((group.size,), rank), group=group)
        self.assertEqual(found.tolist(), group.ranks)
        self.assertEqual(st.allgather_object(rank, group=group), group.ranks)
        with self.assertRaisesRegex(TypeError, "wanted a stretto.torch.Group"):
            st.alltoall(torch.ones(2), group=[0])
        for ranks in (3, "01", [0.0], [0, "1"], [True]):
            with self.assertRaisesRegex(errors.InvalidArgument, "wanted a sequence of some of 0"):
                st.Group(ranks)
        for splits in (3, "abc", [1.5] * size, [None] * size):
            with self.assertRaisesRegex(errors.InvalidArgument, "wanted whole numbers of rows"):
                st.alltoall(torch.ones(size), splits)
        for ranks, words in (([(rank + 1) % size], "is not among"), ([size], "wanted some of"),
                             ([0, 0], "each once")):
            with self.assertRaisesRegex(errors.InvalidArgument, words):
                st.Group(ranks)

    def test_objects_and_several_tensors_at_a_time(self):
        size = st.size()
        self.assertEqual(st.allgather_object({"of": st.rank()}),
                         [{"of": rank} for rank in range(size)])
        mine = torch.ones(2, requires_grad=True)
        some = st.grouped_push_pull([mine, torch.full((3, 1), 2)], "some", average=False)
        self.assertEqual([each.tolist() for each in some], [[size] * 2, [[2 * size]] * 3])
        some[0].sum().backward()
        self.assertEqual(mine.grad.tolist(), [size] * 2)
        self.assertEqual(st.grouped_push_pull([], "none"), [])

    def test_many_names_from_several_threads(self):
        size, rank = st.size(), st.rank()
        group = st.Group(range(size))
        names = [f"{at}{'.long' * (300 * (at % 3))}" for at in range(60)]
        order = random.Random(rank)
        parts = [[name for at, name in enumerate(names) if at % 4 == part] for part in range(4)]

        def call(name):
            found = st.alltoall(torch.full((size,), rank), name=name, group=group)
            return found.tolist() == list(range(size))

        for part in parts:  # As many threads as calls, so that calls may come in any order.
            order.shuffle(part)
            with concurrent.futures.ThreadPoolExecutor(len(part)) as threads:
                self.assertTrue(all(threads.map(call, part)))

    def test_names_are_not_kept(self):
        group = st.Group(range(st.size()))
        tags = []
        for kind in ("send", "receive"):
            real = getattr(_core.Group, kind)

            def recorded(core, place, other, tag, *rest, real=real):
                tags.append(tag)
                return real(core, place, other, tag, *rest)

            patch = mock.patch.object(_core.Group, kind, recorded)
            patch.start()
            self.addCleanup(patch.stop)
        for name in range(30):
            st.alltoall(torch.ones(st.size()), name=f"call {name}", group=group)
        self.assertGreaterEqual(len(tags), 30)
        self.assertLessEqual(len(set(tags)), 2)
        for channel in group._meetings._channels:
            self.assertFalse(channel._came or channel._expected or channel._receives)
        self.assertFalse(group._meeting)

    def test_who_joins_is_waited_for(self):
        if st.rank() > 0:
            found = st.push_pull(torch.ones(1), "joined", average=False)
            self.assertEqual(found.item(), st.size() - 1)
            with self.assertRaisesRegex(errors.Mismatch, "worker 0 sits out"):
                st.alltoall(torch.ones(st.size()))
        self.assertGreater(st.join(), 0)
        self.assertEqual(st.alltoall(torch.ones(st.size())).tolist(), [1] * st.size())


if __name__ == "__main__":
    work.run_tests()
    print("done", flush=True)
