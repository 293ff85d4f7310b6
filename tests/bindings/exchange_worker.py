# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of exchange_test.py: the calls among several workers, all in the
same order everywhere. Prints "done" on success.
"""

import unittest

import torch

import byteps.torch as bps
import byteps.torch.ops as ops
import stretto.torch as st
import work
from stretto import errors

NUMBERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
           torch.bfloat16, torch.float32, torch.float64)


class Exchange(unittest.TestCase):

    def setUp(self):
        self.rank, self.size = bps.rank(), bps.size()
        self.ranks = sum(range(self.size))

    def test_sums_of_every_type(self):
        for dtype in NUMBERS:
            tensor = torch.tensor([[1, 2], [3, self.rank]], dtype=dtype)
            total = bps.push_pull(tensor, average=False, name=f"sum.{dtype}")
            self.assertEqual(total.dtype, dtype)
            self.assertEqual(total.tolist(), [[self.size, 2 * self.size],
                                              [3 * self.size, self.ranks]])
            self.assertEqual(tensor[1][1], self.rank, "the tensor itself stays")

    def test_averages(self):
        mean = bps.push_pull(torch.tensor([1.0, self.rank]), name="mean")
        self.assertEqual(mean.tolist(), [1.0, self.ranks / self.size])
        whole = bps.push_pull(torch.tensor([-1, self.rank]), name="mean of numbers")
        self.assertEqual(whole.tolist(), [-1, self.ranks // self.size], "rounded down")

    def test_averages_whose_sum_is_beyond_the_type(self):
        for dtype, number in ((torch.uint8, 200), (torch.int8, -100), (torch.float16, 40000.0),
                              (torch.bfloat16, 1e38), (torch.int32, 2**31 - 1)):
            mean = bps.push_pull(torch.full((3,), number, dtype=dtype), name=f"large.{dtype}")
            self.assertEqual(mean.tolist(), torch.full((3,), number, dtype=dtype).tolist(), dtype)
        unnamed = [bps.byteps_push_pull(torch.full((3,), 100, dtype=torch.uint8), average=average)
                   for average in (True, False)]
        mean, total = (bps.synchronize(handle) for handle in unnamed)
        self.assertEqual(mean.tolist(), [100] * 3)
        self.assertEqual(total.tolist(), [100 * self.size % 256] * 3, "sums wrap")

    def test_negative_views(self):
        negative = torch._neg_view  # pylint: disable=protected-access
        self.assertEqual(bps.push_pull(negative(torch.tensor([2.0])), average=False,
                                       name="negative").tolist(), [-2 * self.size])
        memory = torch.tensor([float(self.rank)])
        st.broadcast_(negative(memory), 1, "negative broadcast")
        self.assertEqual(memory.tolist(), [1.0])

    def test_truth(self):
        truth = torch.tensor([True, False, self.rank == 0])
        self.assertEqual(bps.push_pull(truth, average=False, name="any").tolist(),
                         [True, False, True])
        self.assertEqual(bps.push_pull(truth, name="all").tolist(),
                         [True, False, self.size == 1])

    def test_shapes(self):
        for name, tensor in (("0-d", torch.tensor(2.0)), ("none", torch.zeros(0, 3)),
                             ("transposed", torch.arange(6.0).view(2, 3).t()),
                             ("strided", torch.arange(10.0)[::3]),
                             ("large", torch.arange(300_000.0) % 1000),
                             ("channels", torch.randn(2, 3, 4, 5).to(
                                 memory_format=torch.channels_last) * 0 + 1)):
            mean = bps.push_pull(tensor, name=name)
            self.assertEqual(mean.shape, tensor.shape)
            self.assertTrue(torch.equal(mean, tensor), name)

    def test_in_place_and_handles(self):
        tensor = torch.full((3, 2), float(self.rank))
        view = tensor.t()  # Not contiguous, and still in place.
        handle = bps.byteps_push_pull(view, average=False, name="in place")
        self.assertIsInstance(handle, int)
        self.assertIs(type(bps.poll(handle)), bool)
        out = bps.synchronize(handle)
        self.assertIs(out, view)
        self.assertEqual(out.tolist(), [[self.ranks] * 3] * 2)
        self.assertEqual(tensor.tolist(), [[self.ranks] * 2] * 3)
        self.assertIsNone(bps.synchronize(handle))
        self.assertTrue(bps.poll(handle))
        leaf = torch.zeros(2, requires_grad=True)
        self.assertIs(st.push_pull_(leaf, "leaf"), leaf)
        self.assertIs(st.broadcast_(leaf, 0, "leaf"), leaf)

    def test_polled_to_the_end(self):
        tensor = torch.full((5,), float(self.rank))
        handle = bps.byteps_push_pull(tensor, name="polled")
        while not bps.poll(handle):
            pass
        self.assertEqual(tensor.tolist(), [self.ranks / self.size] * 5)

    def test_many_at_once_end_in_any_order(self):
        handles = [ops.push_pull_async(torch.full((100,), float(i)), average=False, name=f"m{i}",
                                       priority=i % 7) for i in range(50)]
        for i in reversed(range(50)):
            self.assertEqual(bps.synchronize(handles[i])[99], i * self.size)

    def test_one_name_many_rounds(self):
        handles = [ops.push_pull_async(torch.tensor([float(i + self.rank)]), average=False,
                                       name="rounds") for i in range(30)]
        for i, handle in enumerate(handles):
            self.assertEqual(bps.synchronize(handle).item(), i * self.size + self.ranks)

    def test_unnamed(self):
        one, two = torch.ones(3), torch.full((3,), 2.0)
        handles = [bps.byteps_push_pull(one, average=False),
                   bps.byteps_push_pull(two, average=False)]
        for handle in handles:
            bps.synchronize(handle)
        self.assertEqual((one[0], two[0]), (self.size, 2 * self.size))

    def test_other_forms(self):
        tensor = torch.ones(2)
        self.assertEqual(ops.push_pull_inplace(tensor, average=False, name="io").tolist(),
                         [self.size] * 2)
        handle, count = ops.push_pull_group_sync_inplace(tensor, name="group")
        self.assertEqual(count, 1)
        self.assertEqual(bps.synchronize(handle).tolist(), [self.size] * 2)
        self.assertEqual(bps.declare("later"), 0)
        half = bps.push_pull(torch.full((4,), 0.5), name="half", compression=bps.Compression.fp16)
        self.assertEqual((half.dtype, half.tolist()), (torch.float32, [0.5] * 4))

    def test_gradient_flows(self):
        weight = torch.full((2, 2), float(self.rank + 1), requires_grad=True)
        total = bps.push_pull(weight, average=False, name="flows")
        (total * torch.ones(2, 2).t() * (self.rank + 1)).sum().backward()
        expected = sum(rank + 1 for rank in range(self.size))
        self.assertEqual(weight.grad.tolist(), [[expected] * 2] * 2)

    def test_broadcasts(self):
        last = self.size - 1
        for dtype in (*NUMBERS, torch.bool):
            tensor = torch.tensor([[self.rank == last, True]]).to(dtype)
            same = bps.broadcast(tensor, last, name=f"b.{dtype}")
            self.assertEqual(same.tolist(), torch.tensor([[True, True]]).to(dtype).tolist())
        strided = torch.full((4, 4), float(self.rank)).t()[::2]
        st.broadcast_(strided, 0, name="strided")
        self.assertEqual(strided.tolist(), [[0.0] * 4] * 2)

    def test_parameters(self):
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
        torch.nn.init.constant_(model[0].weight, self.rank + 1.0)
        model[1].num_batches_tracked.fill_(self.rank)
        bps.broadcast_parameters(model.state_dict(), root_rank=self.size - 1)
        self.assertEqual(model[0].weight[0][0], self.size)
        self.assertEqual(model[1].num_batches_tracked, self.size - 1)
        other = torch.nn.Linear(5, 4)  # The same names, other sizes: as in a GAN.
        bps.broadcast_parameters(other.state_dict(), root_rank=0)
        bps.broadcast_parameters(list(other.named_parameters()), root_rank=0)

    def test_parameters_that_differ(self):
        width = 3 if self.rank == 0 else 4
        with self.assertRaisesRegex(errors.Mismatch, "other tensors to broadcast"):
            bps.broadcast_parameters({"w": torch.zeros(width)}, root_rank=0)

    def test_optimizer_state(self):
        for kind, options in ((torch.optim.SGD, {"lr": 0.5, "momentum": 0.9}),
                              (torch.optim.Adam, {"lr": 0.5, "amsgrad": True}),
                              (torch.optim.Adagrad, {"lr": 0.5}), (torch.optim.RMSprop, {})):
            model = torch.nn.Linear(2, 2)
            optimizer = kind(model.parameters(), **options)
            if self.rank == 0:
                optimizer.param_groups[0]["lr"] = 0.25
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()
            bps.broadcast_optimizer_state(optimizer, root_rank=0)
            self.assertEqual(optimizer.param_groups[0]["lr"], 0.25)
            self.assertEqual(len(optimizer.state), 2)
            sizes = st.allgather(torch.cat([
                value.reshape(-1) for state in optimizer.state_dict()["state"].values()
                for value in state.values() if isinstance(value, torch.Tensor)]).view(1, -1))
            for row in sizes:
                self.assertTrue(torch.equal(row, sizes[0]))

    def test_objects(self):
        mine = {"epoch": self.rank, "name": "x" * 5000 * (self.rank + 1), "none": None}
        theirs = bps.broadcast_object(mine, root_rank=self.size - 1)
        self.assertEqual((theirs["epoch"], len(theirs["name"])),
                         (self.size - 1, 5000 * self.size))
        self.assertEqual(bps.broadcast_object((1, None), root_rank=0, name="pair"), (1, None))

    def test_roots_that_are_no_workers(self):
        model = torch.nn.Linear(1, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for root in (-1, self.size, 1.0, None):
            for call in (lambda root: st.broadcast(torch.ones(2), root),
                         lambda root: st.broadcast_(torch.ones(2), root),
                         lambda root: st.broadcast(torch.ones(2), root, "named"),
                         lambda root: st.broadcast_parameters(model.state_dict(), root),
                         lambda root: st.broadcast_optimizer_state(optimizer, root),
                         lambda root: st.broadcast_object(1, root)):
                with self.assertRaisesRegex(ValueError, "the root's rank is .*; there are ranks 0"):
                    call(root)

    def test_allgather(self):
        mine = torch.full((self.rank, 2), self.rank, dtype=torch.int16)
        rows = [[rank] * 2 for rank in range(self.size) for _ in range(rank)]
        self.assertEqual(bps.allgather(mine, name="rows").tolist(), rows)
        self.assertEqual(bps.allgather(torch.tensor(float(self.rank))).tolist(),
                         list(range(self.size)))

    def test_gradients_flow_through_allgather(self):
        """Worker r gives r + 1 rows, and weighs row i of all by i + r."""
        mine = torch.full((self.rank + 1, 2), 1.5, requires_grad=True)
        everybody = st.allgather(mine * 3.0, name="flows")
        count = everybody.shape[0]
        weights = torch.arange(float(count)).view(-1, 1) + self.rank
        (everybody * weights).sum().backward()
        first = sum(rank + 1 for rank in range(self.rank))
        for row in range(self.rank + 1):
            expected = 3.0 * (self.size * (first + row) + self.ranks)
            self.assertEqual(mine.grad[row].tolist(), [expected] * 2)

    def test_one_name_gathers_tensors_of_many_shapes_and_types(self):
        for name in ("many", None):
            for tensor in (torch.ones(2, 3), torch.ones(2, 4), torch.ones(2, 3).double()):
                mine = tensor.requires_grad_()
                st.allgather(mine, name=name).sum().backward()
                self.assertTrue(torch.equal(mine.grad, self.size * torch.ones_like(mine)))

    def test_gradients_flow_through_broadcast(self):
        last = self.size - 1
        for name in ("named", None):
            mine = torch.full((2, 3), float(self.rank), requires_grad=True)
            same = bps.broadcast(mine * 2.0, last, name=name)
            self.assertEqual(same.tolist(), [[2.0 * last] * 3] * 2)
            (same * (self.rank + 1.0)).sum().backward()
            expected = 2.0 * (self.ranks + self.size) if self.rank == last else 0.0
            self.assertEqual(mine.grad.tolist(), [[expected] * 3] * 2)

    def test_barrier(self):
        bps.barrier()

    def test_another_size_under_the_same_name(self):
        bps.push_pull(torch.ones(4), name="fixed")
        bps.barrier()  # a mismatch fails the tensor at all workers, also during a wait
        with self.assertRaisesRegex(errors.Mismatch, "fixed"):
            bps.push_pull(torch.ones(5), name="fixed")


class Mismatches(unittest.TestCase):
    """Worker 0 gives a different tensor than the others. The error at each worker names both."""

    def setUp(self):
        self.first = bps.rank() == 0

    def assert_mismatch(self, call, one, other, *words):
        """All get a Mismatch with these words."""
        with self.assertRaises(errors.Mismatch) as caught:
            call(one if self.first else other)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_allgather(self):
        ints = torch.zeros(2, 3, dtype=torch.int32)
        for name in ("ours", None):
            def gather(tensor, name=name):
                return bps.allgather(tensor, name=name)
            self.assert_mismatch(gather, ints, ints.float(), "worker 0 has torch.int32 of shape "
                                 "[rows, 3]", "worker 1 has torch.float32 of shape [rows, 3]")
            self.assert_mismatch(gather, ints, torch.zeros(2, 4, dtype=torch.int32),
                                 "[rows, 3]", "[rows, 4]")
            self.assert_mismatch(gather, torch.zeros(2, 6), torch.zeros(2, 2, 3),
                                 "[rows, 6]", "[rows, 2, 3]")
            self.assertEqual(len(gather(ints)), 2 * bps.size(), "the name can still be used")

    def test_push_pull(self):
        for index, (one, other, *words) in enumerate((
                (torch.zeros(2, 3), torch.zeros(3, 2), "f32[2x3]", "f32[3x2]"),
                (torch.zeros(2, 3), torch.zeros(6), "f32[2x3]", "f32[6]"),
                (torch.zeros(2), torch.zeros(2, dtype=torch.int32), "f32[2]", "i32[2]"),
                (torch.zeros(2, dtype=torch.int16), torch.zeros(2, dtype=torch.int32),
                 "i32[int16 2]", "i32[2]"),
                (torch.zeros(2, dtype=torch.bool), torch.zeros(2, dtype=torch.uint8),
                 "i32[bool 2]", "u8[2]"))):
            for kind, call in (("push_pull", st.push_pull), ("push_pull_", st.push_pull_),
                               ("async", lambda *these: st.push_pull_async(*these).wait()),
                               ("broadcast", lambda tensor, name: st.broadcast(tensor, 0, name))):
                name = f"{kind} of {index}"
                if kind == "broadcast":
                    words = [name]  # Data that is not added up travels as bytes.
                with self.subTest(name):
                    self.assert_mismatch(lambda tensor: call(tensor, name), one, other, *words)
                bps.barrier()

    def test_an_object_that_cannot_travel(self):
        """Only its owner gets an error; no worker waits for it."""
        with self.assertRaisesRegex(TypeError if self.first else errors.InvalidArgument,
                                    "cannot be broadcast"):
            st.broadcast_object(object() if self.first else None, 0, name="bad")
        self.assertEqual(st.broadcast_object(bps.rank(), 0, name="bad"), 0)

    def test_roots(self):
        last = bps.size() - 1
        root = 0 if bps.rank() < last else last
        for call in (lambda: st.broadcast_parameters({"w": torch.ones(1)}, root),
                     lambda: st.broadcast_optimizer_state(
                         torch.optim.SGD([torch.ones(1)], lr=0.1), root)):
            with self.assertRaisesRegex(errors.Mismatch, "root_rank is . here and . there"):
                call()

    def test_another_root_at_one_worker(self):
        """All get the error, whichever is last; the message names the two that differ."""
        root = 0 if bps.rank() < bps.size() - 1 else 1
        for call in (lambda: st.broadcast(torch.zeros(3), root, "another root"),
                     lambda: st.broadcast_object("x", root, name="another root")):
            with self.assertRaisesRegex(errors.Mismatch,
                                        "worker . broadcasts from root [01], worker . from root"):
                call()

    def test_nothing_and_something(self):
        """A worker without elements does not wait; the others get the error."""
        if self.first:
            st.push_pull(torch.zeros(0, 3), "nothing")
        bps.barrier()
        if not self.first:
            with self.assertRaisesRegex(errors.Mismatch, r"f32\[0x3\].*f32\[2x3\]"):
                st.push_pull(torch.zeros(2, 3), "nothing")


if __name__ == "__main__":
    work.run_tests()
    print("done", flush=True)
