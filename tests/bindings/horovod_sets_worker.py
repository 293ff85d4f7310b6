# SPDX-License-Identifier: Apache-2.0
"""A worker that tests the calls of stretto.horovod.torch with rows for each worker and with process
sets."""

import time
import unittest

import numpy
import torch

import work

import stretto.horovod.torch as hvd
from stretto import errors

KINDS = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8,
         torch.int16, torch.int32, torch.int64, torch.bool)


PATIENCE_S = 10.0  # For results due within milliseconds; the operation timeout is longer.


def rows_for(giver, taker, kind, width=2):
    """One worker's rows for another: their number is the difference of the ranks."""
    count = abs(giver - taker)
    return torch.full((count, width), giver * 10 + taker).to(kind)


class AllToAll(unittest.TestCase):

    def check(self, kind, ranks, **options):
        """Checks alltoall() among the workers of `ranks`. Each pair of workers exchanges a
        different number of rows, possibly zero."""
        rank = hvd.rank()
        mine = torch.cat([rows_for(rank, other, kind) for other in ranks])
        splits = [abs(rank - other) for other in ranks]
        found, received = hvd.alltoall(mine, splits, **options)
        expected = torch.cat([rows_for(other, rank, kind) for other in ranks])
        self.assertEqual((found.dtype, received.dtype), (kind, torch.int32))
        self.assertTrue(torch.equal(found, expected), found)
        self.assertEqual(received.tolist(), splits)

    def test_unlike_numbers_of_rows_of_every_type(self):
        for kind in KINDS:
            self.check(kind, range(hvd.size()))

    def test_as_many_for_each(self):
        rank, size = hvd.rank(), hvd.size()
        found = hvd.alltoall(torch.arange(2 * size) + 100 * rank)
        self.assertEqual(found.tolist(), [100 * giver + 2 * rank + at for giver in range(size)
                                          for at in range(2)])
        self.assertEqual(hvd.alltoall(torch.ones(0, 3)).shape, (0, 3))

    def test_what_is_left_goes_nowhere_and_has_no_gradient(self):
        size = hvd.size()
        mine = torch.ones(size + 2, 2, requires_grad=True)
        found, _ = hvd.alltoall(mine, torch.ones(size, dtype=torch.int64))
        (found * 3).sum().backward()
        self.assertEqual(mine.grad[:, 0].tolist(), [3] * size + [0, 0])

    def test_gradients_go_back_to_where_rows_came_from(self):
        rank, size = hvd.rank(), hvd.size()
        mine = torch.ones(size * (rank + 1), requires_grad=True)
        found, received = hvd.alltoall(mine, [rank + 1] * size, name="back")
        self.assertEqual(received.tolist(), [giver + 1 for giver in range(size)])
        (found * (rank + 1)).sum().backward()
        self.assertEqual(mine.grad.tolist(), [taker + 1.0 for taker in range(size)
                                              for _ in range(rank + 1)])

    def test_handles_in_any_order_of_names(self):
        size = hvd.size()
        names = ["a", "b", "c"] if hvd.rank() % 2 else ["c", "a", "b"]
        handles = {name: hvd.alltoall_async(torch.full((size,), ord(name)), name=name)
                   for name in names}
        for name in sorted(names):
            found, received = hvd.synchronize(handles[name])
            self.assertEqual(found.tolist(), [ord(name)] * size)
            self.assertEqual(received.tolist(), [1] * size)

    def test_what_can_be_no_splits(self):
        size = hvd.size()
        for splits, words in (([1] * (size + 1), "wanted a number of rows for each"),
                              ([2] * size, "no more than there are"),
                              ([-1] + [1] * (size - 1), "wanted a number"),
                              (torch.ones(size), "whole numbers"), ([0.5] * size, "whole"),
                              (3, "whole")):
            with self.assertRaisesRegex(ValueError, words):
                hvd.alltoall(torch.ones(size), splits)
        for splits in ([torch.tensor(1)] * size, numpy.ones(size, numpy.int64)):
            self.assertEqual(hvd.alltoall(torch.ones(size), splits)[1].tolist(), [1] * size)
        with self.assertRaisesRegex(ValueError, "get as many each"):
            hvd.alltoall(torch.ones(size + 1))
        with self.assertRaisesRegex(ValueError, "no dimension"):
            hvd.alltoall(torch.tensor(1.0))

    def test_workers_that_differ_are_told_all_of_them_and_go_on(self):
        rank, size = hvd.rank(), hvd.size()
        for mine in (torch.ones(size, 2 + rank % 2), torch.ones(size, dtype=KINDS[rank % 2])):
            for name in (None, "differs"):
                with self.assertRaisesRegex(errors.Mismatch, "float32.* here and|here and .*float"):
                    hvd.alltoall(mine, name=name)
        self.check(torch.float32, range(size))


class ReduceScatter(unittest.TestCase):

    def rows(self, everything, ranks):
        """This worker's rows, by Horovod's rule."""
        count, at = len(ranks), ranks.index(hvd.rank())
        sizes = [len(everything) // count + (each < len(everything) % count)
                 for each in range(count)]
        return everything[sum(sizes[:at]):sum(sizes[:at + 1])]

    def test_every_reduction_of_every_type_and_number_of_rows(self):
        ranks = list(range(hvd.size()))
        for kind in KINDS[:-1]:
            for rows in (0, 1, hvd.size(), 2 * hvd.size() + 1):
                mine = [((torch.arange(rows * 2).view(rows, 2) + rank) % 5).to(kind)
                        for rank in ranks]
                whole = torch.stack(mine).to(torch.float64)
                for op, result in ((hvd.Sum, whole.sum(0)), (hvd.Min, whole.amin(0)),
                                   (hvd.Max, whole.amax(0)), (hvd.Product, whole.prod(0)),
                                   (hvd.Average, whole.mean(0))):
                    found = hvd.reducescatter(mine[hvd.rank()], op=op)
                    expected = self.rows(result, ranks).to(kind)
                    self.assertEqual((found.dtype, found.shape), (kind, expected.shape))
                    self.assertTrue(torch.allclose(found.double(), expected.double(), 1e-2),
                                    (kind, op))

    def test_factors_groups_handles_and_compression(self):
        size, rank = hvd.size(), hvd.rank()
        ten = torch.full((size,), 10.0)
        found = hvd.reducescatter(ten, op=hvd.Sum, prescale_factor=0.5, postscale_factor=3)
        self.assertEqual(found.tolist(), [15 * size])
        both = hvd.grouped_reducescatter([ten, torch.ones(2 * size, 1, dtype=torch.int32)],
                                         op=hvd.Sum)
        self.assertEqual([each.tolist() for each in both], [[10 * size], [[size]] * 2])
        handles = [hvd.reducescatter_async(ten + rank, name="one", op=hvd.Max),
                   hvd.grouped_reducescatter_async([ten], name="more")]
        while not all(hvd.poll(handle) for handle in handles):
            pass
        self.assertEqual(hvd.synchronize(handles[0]).tolist(), [10 + size - 1])
        self.assertEqual(hvd.synchronize(handles[1])[0].tolist(), [10])
        third = hvd.reducescatter(torch.full((size,), 1 / 3), compression=hvd.Compression.fp16)
        self.assertEqual(third.tolist(), torch.full((1,), 1 / 3).half().float().tolist())
        self.assertEqual(hvd.grouped_reducescatter([]), [])

    def test_gradients_are_horovods(self):
        size, rank = hvd.size(), hvd.rank()
        for op, factor in ((hvd.Sum, size), (hvd.Average, 1)):
            mine = torch.ones(size + 1, 2, requires_grad=True)
            found = hvd.reducescatter(mine, op=op, postscale_factor=2)
            (found * (rank + 1)).sum().backward()
            of = [1] + list(range(1, size + 1))  # The first one has two rows.
            self.assertEqual(mine.grad[:, 0].tolist(), [2.0 * factor * each for each in of])
        least = hvd.reducescatter(torch.ones(size, requires_grad=True), op=hvd.Min)
        with self.assertRaisesRegex(errors.Unsupported, "means and sums"):
            least.sum().backward()

    def test_workers_that_differ_are_told_all_of_them_and_go_on(self):
        rank = hvd.rank()
        for mine in (torch.ones(5 + rank % 2), torch.ones(4, dtype=KINDS[rank % 2])):
            with self.assertRaisesRegex(errors.Mismatch, "in reducescatter"):
                hvd.reducescatter(mine)
        with self.assertRaisesRegex(errors.Mismatch, "op is"):
            hvd.reducescatter(torch.ones(3), op=(hvd.Sum, hvd.Min)[rank % 2])
        with self.assertRaisesRegex(errors.Mismatch, "prescale_factor"):
            hvd.reducescatter(torch.ones(3), prescale_factor=1.0 + rank)
        with self.assertRaisesRegex(ValueError, "no dimension"):
            hvd.reducescatter(torch.tensor(1.0))
        with self.assertRaisesRegex(errors.Unsupported, "Adasum"):
            hvd.reducescatter(torch.ones(3), op=hvd.Adasum)
        self.assertEqual(hvd.reducescatter(torch.ones(hvd.size())).tolist(), [1])


class ProcessSets(unittest.TestCase):
    """The workers of even ranks and the others, at the same time."""

    def setUp(self):
        size = hvd.size()
        self.sets = [hvd.add_process_set(range(first, size, 2)) for first in (0, 1)]
        self.mine = self.sets[hvd.rank() % 2]
        self.ranks = self.mine.ranks

    def tearDown(self):
        for each in self.sets:
            self.assertTrue(hvd.remove_process_set(each))

    def test_who_is_in(self):
        other = self.sets[1 - hvd.rank() % 2]
        self.assertTrue(self.mine.included() and not other.included())
        self.assertEqual((self.mine.rank(), self.mine.size()),
                         (hvd.rank() // 2, len(self.ranks)))
        with self.assertRaisesRegex(ValueError, "not part"):
            other.rank()
        self.assertEqual((hvd.global_process_set.rank(), hvd.global_process_set.size()),
                         (hvd.rank(), hvd.size()))
        with self.assertRaisesRegex(errors.InvalidArgument, "is not in"):
            hvd.allreduce(torch.ones(1), process_set=other)
        with self.assertRaisesRegex(ValueError, "duplicate process set"):
            hvd.add_process_set(self.ranks)
        with self.assertRaisesRegex(ValueError, "duplicate process set"):
            hvd.add_process_set(range(hvd.size()))
        for ranks in ([], [0, 0], [hvd.size()], [-1]):
            with self.assertRaisesRegex(ValueError, "the ranks are"):
                hvd.add_process_set(ranks)
        for ranks in (3, ["0"]):
            with self.assertRaisesRegex(ValueError, "list of process ranks"):
                hvd.ProcessSet(ranks)
        with self.assertRaisesRegex(TypeError, "wanted a ProcessSet"):
            hvd.allreduce(torch.ones(1), process_set="others")

    def test_one_that_was_removed_is_of_no_use(self):
        every = hvd.ProcessSet([0])
        self.assertIsNone(every.size())
        with self.assertRaisesRegex(errors.InvalidArgument, "has not been added"):
            hvd.barrier(every)
        self.assertFalse(hvd.remove_process_set(every))
        with self.assertRaisesRegex(TypeError, "wanted a ProcessSet"):
            hvd.remove_process_set([0])
        self.assertEqual(hvd.ProcessSet(numpy.arange(2)).ranks, [0, 1])
        self.assertFalse(hvd.remove_process_set(hvd.global_process_set))

    def test_workers_that_add_others_are_told(self):
        if hvd.size() == 2:
            return  # There is no other set.
        with self.assertRaisesRegex(errors.Mismatch, "the ranks is"):
            hvd.add_process_set([[0], [0, 1]][hvd.rank() % 2])

    def test_reductions(self):
        rank = hvd.rank()
        for kind in KINDS[:-1]:
            everybody = torch.tensor([[each + 1, 3] for each in self.ranks]).double()
            for op, result in ((hvd.Sum, everybody.sum(0)), (hvd.Average, everybody.mean(0)),
                               (hvd.Min, everybody.amin(0)), (hvd.Product, everybody.prod(0))):
                mine = torch.tensor([rank + 1, 3], dtype=kind)
                found = hvd.allreduce(mine, op=op, process_set=self.mine)
                self.assertTrue(torch.allclose(found.double(), result.to(kind).double(), 1e-2))
        minus = torch.tensor([-3 if rank == self.ranks[0] else 0])
        found = hvd.allreduce(minus, process_set=self.mine)
        self.assertEqual(found.item(), int(-3 / len(self.ranks)))
        group = [torch.ones(2), torch.ones(0), torch.ones(3, 2, dtype=torch.int16).t()]
        hvd.grouped_allreduce_(group, op=hvd.Sum, process_set=self.mine)
        self.assertEqual(group[0].tolist(), [len(self.ranks)] * 2)
        self.assertEqual(group[2].tolist(), [[len(self.ranks)] * 3] * 2)
        mine = torch.ones(3, requires_grad=True)
        hvd.allreduce(mine, op=hvd.Sum, process_set=self.mine).sum().backward()
        self.assertEqual(mine.grad.tolist(), [len(self.ranks)] * 3)

    def test_names_in_any_order_beside_those_of_all(self):
        names = ["x", "y", "z"] if self.mine.rank() % 2 else ["z", "x", "y"]
        of_set = {name: hvd.allreduce_async(torch.ones(1), name=name, op=hvd.Sum,
                                            process_set=self.mine) for name in names}
        of_all = {name: hvd.allreduce_async(torch.ones(1), name=name, op=hvd.Sum)
                  for name in names}
        for name in sorted(names):
            self.assertEqual(hvd.synchronize(of_all[name]).item(), hvd.size())
            self.assertEqual(hvd.synchronize(of_set[name]).item(), len(self.ranks))

    def test_rows(self):
        rank, here = hvd.rank(), self.mine.rank()
        mine = torch.full((here, 2), rank, dtype=torch.float32, requires_grad=True)
        found = hvd.allgather(mine, process_set=self.mine)
        self.assertEqual(found[:, 1].tolist(),
                         [each for at, each in enumerate(self.ranks) for _ in range(at)])
        self.assertTrue(found.requires_grad)
        (2 * found).sum().backward()
        self.assertEqual(mine.grad.tolist(), [[2, 2]] * here)
        AllToAll.check(self, torch.float32, self.ranks, process_set=self.mine)
        both = hvd.grouped_allgather([torch.tensor(rank), torch.ones(1)], process_set=self.mine)
        self.assertEqual(both[0].tolist(), self.ranks)
        found = hvd.reducescatter(torch.arange(5.0), process_set=self.mine)
        expected = ReduceScatter.rows(self, torch.arange(5.0), self.ranks)
        self.assertEqual(found.tolist(), expected.tolist())

    def test_what_one_worker_has(self):
        root = self.ranks[-1]
        mine = torch.full((3,), float(hvd.rank()), requires_grad=True)
        found = hvd.broadcast(mine, root, process_set=self.mine)
        self.assertEqual(found.tolist(), [root] * 3)
        found.sum().backward()
        self.assertEqual(mine.grad.tolist(), [float(hvd.rank() == root)] * 3)
        with self.assertRaisesRegex(ValueError, "the process set has ranks"):
            hvd.broadcast(mine, 1 - self.ranks[0], process_set=self.mine)
        long = {"of": root, "long": "x" * 5000} if hvd.rank() == root else object()
        found = hvd.broadcast_object(long, root, process_set=self.mine)
        self.assertEqual((found["of"], len(found["long"])), (root, 5000))
        if self.mine is self.sets[1] and len(self.ranks) > 1:  # Its number differs from its rank.
            with self.assertRaisesRegex(Exception, f"object of worker {root} |builtins.object"):
                hvd.allgather_object(object() if hvd.rank() == root else 1, process_set=self.mine)
        everybody = hvd.allgather_object({"of": hvd.rank()}, process_set=self.mine)
        self.assertEqual([each["of"] for each in everybody], self.ranks)
        state = {"b": torch.full((2,), float(hvd.rank())), "a": torch.tensor(hvd.rank())}
        hvd.broadcast_parameters(state, root, process_set=self.mine)
        self.assertEqual([state["a"].item(), *state["b"].tolist()], [root] * 3)
        hvd.barrier(self.mine)

    def test_workers_that_differ_are_told_and_go_on(self):
        if len(self.ranks) == 1:
            return
        here = self.mine.rank()
        with self.assertRaisesRegex(errors.Mismatch, f"worker {self.ranks[0]}.*tensor 0 is"):
            hvd.allreduce(torch.ones(2 + here), process_set=self.mine)
        with self.assertRaisesRegex(errors.Mismatch, "root_rank is"):
            hvd.broadcast(torch.ones(2), hvd.rank(), process_set=self.mine)
        with self.assertRaisesRegex(errors.Mismatch, "rows"):
            hvd.allgather(torch.ones(2, 2 + here), process_set=self.mine)
        # More than fits into a first message.
        many = [torch.ones(1 + here)] + [torch.ones(at) for at in range(200)]
        with self.assertRaisesRegex(errors.Mismatch, "tensor 0 is"):
            hvd.grouped_allreduce(many, process_set=self.mine)
        found = hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=self.mine)
        self.assertEqual(found.item(), len(self.ranks))

    def train(self, **options):
        """The weight after two steps of one layer, whose gradient is this worker's rank plus
        one."""
        layer = torch.nn.Linear(2, 1, bias=False)
        torch.nn.init.zeros_(layer.weight)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(layer.parameters(), lr=1.0),
                                             layer.named_parameters(), **options)
        for _ in range(2):
            optimizer.zero_grad()
            layer(torch.full((1, 2), hvd.rank() + 1.0)).sum().backward()
            optimizer.step()
        return layer.weight[0, 0].item()

    def test_steps_by_the_gradients_of_a_set(self):
        mean = sum(rank + 1 for rank in self.ranks) / len(self.ranks)
        for options, factor in (({}, 1), ({"op": hvd.Sum}, len(self.ranks)),
                                ({"compression": hvd.Compression.fp16}, 1)):
            self.assertAlmostEqual(self.train(process_set=self.mine, **options),
                                   -2 * factor * mean, 3)
        # Workers outside the set step by their own gradients.
        first = sum(rank + 1 for rank in self.sets[0].ranks) / len(self.sets[0].ranks)
        expected = first if self.sets[0].included() else hvd.rank() + 1
        self.assertAlmostEqual(self.train(process_set=self.sets[0]), -2 * expected, 5)

    def test_closures_of_a_set(self):
        layer = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.zeros_(layer.weight)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(layer.parameters(), lr=0.1),
                                             layer.named_parameters(), process_set=self.mine)

        def closure():
            optimizer.zero_grad()
            (layer(torch.ones(1)) * 0).sum().backward()
            return torch.tensor(float(hvd.rank()))

        self.assertEqual(optimizer.step(closure).item(), sum(self.ranks) / len(self.ranks))


class UnlikeCalls(unittest.TestCase):
    """Workers that make different calls by the same name: the error at each names both."""

    def calls(self, **options):
        """Of every kind that has a name, by the name of the call."""
        ranks = options.get("process_set", hvd.global_process_set).ranks
        rows = torch.ones(len(ranks))
        return {
            "allreduce": lambda: hvd.allreduce(rows, name="one", **options),
            "grouped_allreduce": lambda: hvd.grouped_allreduce([rows], name="one", **options),
            "allgather": lambda: hvd.allgather(rows, name="one", **options),
            "broadcast": lambda: hvd.broadcast(rows, ranks[0], name="one", **options),
            "alltoall": lambda: hvd.alltoall(rows, name="one", **options),
            "reducescatter": lambda: hvd.reducescatter(rows, name="one", **options)}

    def check(self, here, options):
        """Each kind at the first worker, the next kind at the others; then the same kind at all."""
        calls = self.calls(**options)
        kinds = list(calls)
        for at, kind in enumerate(kinds):
            mine = kinds[(at + (here > 0)) % len(kinds)]
            begin = time.monotonic()
            with self.assertRaises(errors.Mismatch) as raised:
                calls[mine]()
            self.assertLess(time.monotonic() - begin, PATIENCE_S)
            self.assertRegex(str(raised.exception), f"the call is {mine} here and .* there")
            if here == 0:
                self.assertIn(f"and {kinds[(at + 1) % len(kinds)]} there", str(raised.exception))
            calls[kind]()

    def test_of_all_workers(self):
        self.check(hvd.rank(), {})

    def test_of_a_process_set(self):
        some = hvd.add_process_set(range(hvd.size() - 1))
        if some.included() and some.size() > 1:
            self.check(some.rank(), {"process_set": some})
        self.assertTrue(hvd.remove_process_set(some))

    def test_one_name_for_several_kinds_in_one_order(self):
        handles = [hvd.allreduce_async(torch.ones(2), name="shared", op=hvd.Sum),
                   hvd.allgather_async(torch.ones(1), name="shared"),
                   hvd.alltoall_async(torch.ones(hvd.size()), name="shared")]
        self.assertEqual(hvd.synchronize(handles[2])[0].tolist(), [1] * hvd.size())
        self.assertEqual(hvd.synchronize(handles[1]).tolist(), [1] * hvd.size())
        self.assertEqual(hvd.synchronize(handles[0]).tolist(), [hvd.size()] * 2)


class Begun(unittest.TestCase):

    def test_sets_that_init_is_given(self):
        given = hvd.ProcessSet([0])
        hvd.init(process_sets=[given])
        self.assertEqual(given.size(), 1)
        self.assertTrue(hvd.remove_process_set(given))
        hvd.init(process_sets="dynamic")


if __name__ == "__main__":
    work.run_tests()
    print("done", flush=True)
