# SPDX-License-Identifier: Apache-2.0
"""A worker that calls stretto.horovod.torch like Horovod's scripts, and checks the results."""

import threading
import unittest
import warnings
import weakref

import torch

import work

import stretto.horovod.torch as hvd
from stretto import errors

KINDS = (torch.float32, torch.float64, torch.float16, torch.int32, torch.int64, torch.uint8,
         torch.int8)


def of_rank(rank, kind=torch.float32):
    """The tensor of the worker of that rank."""
    return torch.tensor([[rank + 1, 5 - rank], [2, rank]], dtype=kind)


def all_of(kind=torch.float32):
    """The tensors of all workers, by rank."""
    return torch.stack([of_rank(rank, kind) for rank in range(hvd.size())])


class Allreduce(unittest.TestCase):

    def test_every_reduction_of_every_type(self):
        for kind in KINDS:
            everybody = all_of(torch.float64)
            expected = {hvd.Sum: everybody.sum(0), hvd.Min: everybody.amin(0),
                        hvd.Max: everybody.amax(0), hvd.Product: everybody.prod(0)}
            for op, result in expected.items():
                found = hvd.allreduce(of_rank(hvd.rank(), kind), op=op)
                self.assertEqual(found.dtype, kind)
                self.assertTrue(torch.equal(found, result.to(kind)), (kind, op, found))

    def test_pieces_are_reduced_as_a_whole(self):
        """A tensor of that size has several pieces, and the last has padding."""
        def repeated(tensor, kind):
            return tensor.to(kind).reshape(-1).repeat(15_013)

        everybody = all_of(torch.float64)
        for kind in KINDS:
            mine = repeated(of_rank(hvd.rank(), kind), kind)
            mean = hvd.allreduce(of_rank(hvd.rank(), kind))
            for op, result in ((hvd.Sum, everybody.sum(0)), (hvd.Product, everybody.prod(0)),
                               (hvd.Min, everybody.amin(0)), (hvd.Average, mean)):
                found = hvd.allreduce(mine, op=op)
                self.assertTrue(torch.equal(found, repeated(result, kind)), (kind, op))
            last = hvd.size() - 1
            found = hvd.broadcast(mine, last)
            self.assertTrue(torch.equal(found, repeated(of_rank(last, kind), kind)), kind)

    def test_means_are_the_default_and_those_of_whole_numbers_lose_their_fraction(self):
        self.assertTrue(torch.allclose(hvd.allreduce(of_rank(hvd.rank())), all_of().mean(0)))
        minus = hvd.allreduce(torch.tensor([-3 if hvd.rank() == 0 else 0]))
        self.assertEqual(minus.item(), int(-3 / hvd.size()))
        full = hvd.allreduce(torch.tensor([255], dtype=torch.uint8))
        self.assertEqual(full.item(), 255)

    def test_factors_before_and_after(self):
        for kind in (torch.float32, torch.float16, torch.int64):
            ones = torch.ones(3, dtype=kind) * 10
            found = hvd.allreduce(ones, op=hvd.Sum, prescale_factor=0.5, postscale_factor=3)
            self.assertEqual(found.tolist(), [15 * hvd.size()] * 3)

    def test_in_place_by_handle_and_in_groups(self):
        size = hvd.size()
        mine = torch.ones(2)
        self.assertIs(hvd.allreduce_(mine, op=hvd.Sum), mine)
        self.assertEqual(mine.tolist(), [size] * 2)
        handle = hvd.allreduce_async_(mine, name="mine", op=hvd.Sum)
        self.assertIs(hvd.synchronize(handle), mine)
        self.assertEqual(mine.tolist(), [size * size] * 2)
        self.assertIsNone(hvd.synchronize(handle))
        group = [torch.ones(2), torch.full((3, 1), 2, dtype=torch.int32)]
        summed = hvd.grouped_allreduce(group, op=hvd.Sum)
        self.assertEqual([tensor.tolist() for tensor in summed],
                         [[size] * 2, [[2 * size]] * 3])
        self.assertEqual(group[0].tolist(), [1, 1])
        self.assertIs(hvd.grouped_allreduce_(group, op=hvd.Max)[1], group[1])
        handle = hvd.grouped_allreduce_async_(group, name="group", op=hvd.Sum)
        self.assertEqual(hvd.synchronize(handle)[0].tolist(), [size] * 2)
        self.assertEqual(hvd.grouped_allreduce([]), [])

    def test_many_without_names_of_any_shape_at_a_time(self):
        handles = [hvd.allreduce_async(torch.full((length % 7 + 1,), float(length)), op=hvd.Sum)
                   for length in range(30)]
        for length, handle in enumerate(handles):
            self.assertEqual(hvd.synchronize(handle).tolist(),
                             [length * hvd.size()] * (length % 7 + 1))

    def test_names_in_another_order_at_each_worker(self):
        names = ["a", "b", "c"]
        if hvd.rank() == 1:
            names.reverse()
        handles = {name: hvd.allreduce_async(torch.full((2,), ord(name)), name=name, op=hvd.Max)
                   for name in names}
        for name in sorted(names):
            self.assertEqual(hvd.synchronize(handles[name]).tolist(), [ord(name)] * 2)

    def test_one_name_may_have_another_shape_the_next_time(self):
        for shape in ((2,), (3, 4), (2,)):
            for kind in (torch.float32, torch.int64):
                found = hvd.allreduce(torch.ones(shape, dtype=kind), name="again", op=hvd.Sum)
                self.assertTrue(torch.equal(found, torch.full(shape, hvd.size(), dtype=kind)))

    def test_a_name_that_is_in_flight_is_refused(self):
        hvd.barrier()
        if hvd.rank() == 0:
            handle = hvd.allreduce_async(torch.ones(2), name="twice")
            with self.assertRaisesRegex(ValueError, "Duplicate tensor name twice"):
                hvd.allreduce_async(torch.ones(2), name="twice")
        hvd.barrier()
        if hvd.rank() > 0:
            handle = hvd.allreduce_async(torch.ones(2), name="twice")
        self.assertEqual(hvd.synchronize(handle).tolist(), [1, 1])

    def test_gradients_flow_through_sums_and_means_only(self):
        for op, factor in ((hvd.Sum, hvd.size()), (hvd.Average, 1)):
            mine = torch.ones(3, requires_grad=True)
            hvd.allreduce(mine, op=op).sum().backward()
            self.assertEqual(mine.grad.tolist(), [factor] * 3)
        mine = torch.ones(3, requires_grad=True)
        total = sum(tensor.sum() for tensor in hvd.grouped_allreduce([mine, 2 * mine]))
        total.backward()
        self.assertEqual(mine.grad.tolist(), [3] * 3)
        least = hvd.allreduce(torch.ones(3, requires_grad=True), op=hvd.Min)
        with self.assertRaisesRegex(errors.Unsupported, "means and sums"):
            least.sum().backward()

    def test_compression_and_sparse_tensors(self):
        third = hvd.allreduce(torch.full((2,), 1 / 3), compression=hvd.Compression.fp16)
        self.assertEqual(third.dtype, torch.float32)
        self.assertEqual(third.tolist(), torch.full((2,), 1 / 3).half().float().tolist())
        dense = torch.zeros(4, 2)
        dense[hvd.rank()] = 1
        for op in (hvd.Sum, hvd.Average):
            found = hvd.sparse_allreduce_async(dense.to_sparse(1), "sparse", op)().to_dense()
            self.assertTrue(torch.allclose(found, hvd.allreduce(dense, op=op)))

    def test_workers_that_differ_are_told_all_of_them_and_go_on(self):
        rank = hvd.rank()
        for mine in (torch.ones(17 + rank), torch.ones([[2, 6], [3, 4]][rank % 2]),
                     torch.ones(3, dtype=(torch.int32, torch.float32)[rank % 2])):
            for name in (None, "differs"):
                with self.assertRaisesRegex(errors.Mismatch, "has other tensors in allreduce"):
                    hvd.allreduce(mine, name=name)
        with self.assertRaisesRegex(errors.Mismatch, "op is"):
            hvd.allreduce(torch.ones(3), op=(hvd.Sum, hvd.Min)[rank % 2])
        for factor in ("prescale_factor", "postscale_factor"):
            with self.assertRaisesRegex(errors.Mismatch, factor):
                hvd.allreduce(torch.ones(3), **{factor: 1 + rank})
        self.assertEqual(hvd.allreduce(torch.ones(17)).tolist(), [1] * 17)

    def test_what_can_be_no_argument_is_told_before_anything_travels(self):
        dense = torch.ones(2)
        for call, words in (
                (lambda: hvd.allreduce([1, 2]), "is a list, wanted a torch.Tensor"),
                (lambda: hvd.allreduce_(1.0), "is a float"),
                (lambda: hvd.broadcast([1], 0), "is a list"),
                (lambda: hvd.broadcast_async(None, 0), "is a NoneType"),
                (lambda: hvd.grouped_allreduce_async([dense, None]), "is a NoneType"),
                (lambda: hvd.allreduce(dense.to_sparse()), "is sparse"),
                (lambda: hvd.allreduce(dense, prescale_factor="2"), "prescale_factor is '2'"),
                (lambda: hvd.allreduce(dense, postscale_factor=None), "postscale_factor is None")):
            with self.assertRaisesRegex(TypeError, words):
                call()
        for root in (-1, hvd.size(), "0", None, 1.0):
            with self.assertRaisesRegex(ValueError, "the root's rank is"):
                hvd.broadcast(dense, root)
        with self.assertRaisesRegex(ValueError, "op is"):
            hvd.allreduce(dense, op=[])

    def test_a_name_keeps_nothing_of_what_has_ended(self):
        kept = []
        for call in (lambda mine: hvd.allreduce_(mine, name="ended"),
                     lambda mine: hvd.synchronize(hvd.allreduce_async_(mine, name="ended"))):
            mine = torch.ones(2)
            kept.append(weakref.ref(mine))
            call(mine)
            del mine
        for thread in threading.enumerate():
            if thread.name == "stretto-horovod":
                thread.join()  # The thread drops the last exchange that it began.
        hvd.allreduce(torch.ones(2), name="next")  # The worker drops ended exchanges.
        self.assertEqual([each() for each in kept], [None, None])

    def test_what_is_not_there_is_refused_with_the_reason(self):
        self.assertFalse(hasattr(hvd, "run"))
        with self.assertRaisesRegex(errors.Unsupported, "Adasum combines gradients of two"):
            hvd.allreduce(torch.ones(1), op=hvd.Adasum)
        with self.assertRaisesRegex(errors.Unsupported, "add_process_set"):
            hvd.init(comm=[0])
        with self.assertRaisesRegex(errors.Unsupported, "stretto-trace"):
            hvd.start_timeline("x")
        with self.assertRaises(ValueError):
            hvd.allreduce(torch.ones(1), average=True, op=hvd.Sum)
        with self.assertRaises(ValueError):
            hvd.allreduce(torch.ones(1), op=9)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.assertEqual(hvd.allreduce(torch.ones(1), average=False).item(), hvd.size())
        self.assertIn("replaced with `op`", str(said[0].message))


class GatherAndBroadcast(unittest.TestCase):

    def test_rows_of_all_workers(self):
        rank, size = hvd.rank(), hvd.size()
        mine = torch.full((rank + 1, 2), float(rank))
        expected = torch.cat([torch.full((each + 1, 2), float(each)) for each in range(size)])
        self.assertTrue(torch.equal(hvd.allgather(mine), expected))
        both = [hvd.allgather_async(mine), hvd.allgather_async(mine.int(), name="rows")]
        self.assertTrue(torch.equal(hvd.synchronize(both[0]), expected))
        self.assertTrue(torch.equal(hvd.synchronize(both[1]), expected.int()))
        grouped = hvd.grouped_allgather([mine, torch.tensor(rank)])
        self.assertTrue(torch.equal(grouped[0], expected))
        self.assertEqual(grouped[1].tolist(), list(range(size)))
        with self.assertRaisesRegex(errors.Mismatch, r"tensor 0 is float32\[rows, .\] here"):
            hvd.allgather(torch.ones(2, rank + 1))

    def test_gradients_are_means(self):
        rank = hvd.rank()
        mine = torch.ones(rank + 1, 2, requires_grad=True)
        (hvd.allgather(mine) * 3).sum().backward()
        self.assertEqual(mine.grad.tolist(), [[3, 3]] * (rank + 1))
        mine = torch.ones(2, requires_grad=True)
        hvd.broadcast(mine, 1).sum().backward()
        self.assertEqual(mine.grad.tolist(), [1, 1] if rank == 1 else [0, 0])

    def test_objects(self):
        everybody = hvd.allgather_object({"rank": hvd.rank(), "more": "x" * hvd.rank()})
        self.assertEqual([each["rank"] for each in everybody], list(range(hvd.size())))
        self.assertEqual(hvd.broadcast_object({"of": hvd.rank()}, 1), {"of": 1})
        with self.assertRaisesRegex((TypeError, errors.InvalidArgument), "gathered|broadcast"):
            hvd.allgather_object(object() if hvd.rank() == 0 else 1)
        cyclic = []
        cyclic.append(cyclic)
        for bad in (cyclic, 10**5000):
            with self.assertRaisesRegex((TypeError, errors.InvalidArgument), "gathered|broadcast"):
                hvd.allgather_object(bad if hvd.rank() == 0 else 1)
            with self.assertRaisesRegex((TypeError, errors.InvalidArgument), "broadcast"):
                hvd.broadcast_object(bad, 0)

    def test_what_one_worker_has(self):
        rank = hvd.rank()
        mine = torch.full((3,), rank)
        self.assertEqual(hvd.broadcast(mine, 1).tolist(), [1] * 3)
        self.assertEqual(mine.tolist(), [rank] * 3)
        self.assertEqual(hvd.synchronize(hvd.broadcast_async(mine, 1, name="x")).tolist(), [1] * 3)
        self.assertIs(hvd.broadcast_(mine, 1), mine)
        self.assertEqual(mine.tolist(), [1] * 3)
        handle = hvd.broadcast_async_(torch.ones(2), 0)
        while not hvd.poll(handle):
            pass
        hvd.synchronize(handle)
        with self.assertRaisesRegex(errors.Mismatch, "root_rank"):
            hvd.broadcast(mine, rank)
        with self.assertRaisesRegex(ValueError, "ranks 0 to"):
            hvd.broadcast(mine, hvd.size())
        with self.assertRaisesRegex(ValueError, "-1 is the handle of no exchange"):
            hvd.poll(-1)


class Training(unittest.TestCase):

    def train(self, **options):
        """A step of one layer, whose gradient at each worker is its rank plus one."""
        layer = torch.nn.Linear(2, 1, bias=False)
        torch.nn.init.zeros_(layer.weight)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(layer.parameters(), lr=1.0),
                                             layer.named_parameters(), **options)
        hvd.broadcast_parameters(layer.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        layer(torch.full((1, 2), hvd.rank() + 1.0)).sum().backward()
        optimizer.step()
        return layer.weight[0, 0].item()

    def test_steps_by_what_is_wanted(self):
        size = hvd.size()
        total = size * (size + 1) / 2
        self.assertAlmostEqual(self.train(), -total / size, 5)
        self.assertAlmostEqual(self.train(gradient_predivide_factor=2.0), -total / size, 5)
        self.assertAlmostEqual(self.train(op=hvd.Sum, groups=1), -total, 5)
        self.assertAlmostEqual(self.train(op=hvd.Max), -size, 5)

    def test_sparse_gradients_without_a_warning_where_that_is_known(self):
        for known in (True, False):
            table = torch.nn.Embedding(10, 3, sparse=True)
            torch.nn.init.zeros_(table.weight)
            optimizer = hvd.DistributedOptimizer(
                torch.optim.SparseAdam(list(table.parameters()), lr=0.1), sparse_as_dense=known)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                table(torch.tensor([1, 3 + hvd.rank()])).sum().backward()
                optimizer.step()
            self.assertEqual([] if known else ["is sparse"],
                             [each for each in ("is sparse",)
                              if any(each in str(one.message) for one in said)])

    def test_options_of_another_type_are_refused(self):
        model = torch.nn.Linear(2, 1)
        for options, words in (({"compression": None}, "compression is None"),
                               ({"groups": "x"}, "groups should be"),
                               ({"gradient_predivide_factor": "2"}, "gradient_predivide_factor")):
            with self.assertRaisesRegex((TypeError, ValueError), words):
                hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                         model.named_parameters(), **options)

    def test_options_that_make_no_sense_are_refused(self):
        parameter = torch.nn.Parameter(torch.ones(2))
        plain = torch.optim.SGD([parameter], lr=1)
        for options in ({"gradient_predivide_factor": 2.0, "op": hvd.Sum},
                        {"gradient_predivide_factor": 0.0}, {"backward_passes_per_step": 0},
                        {"groups": -1}, {"groups": [[1]]}, {"groups": [[parameter, parameter]]}):
            with self.assertRaises(ValueError, msg=options):
                hvd.DistributedOptimizer(plain, [("w", parameter)], **options)
        with self.assertRaisesRegex(errors.Unsupported, "Adasum"):
            hvd.DistributedOptimizer(plain, [("w", parameter)], op=hvd.Adasum)


class SyncBatchNorm(unittest.TestCase):

    def check(self, kind, momentum):
        """Compares one layer over all workers' rows with PyTorch's over the same rows."""
        torch.manual_seed(3)
        shape = [3 * hvd.size(), 4] + [2] * kind
        rows = torch.rand(shape, dtype=torch.float64) * 3 + 100
        plain = [torch.nn.BatchNorm1d, torch.nn.BatchNorm1d, torch.nn.BatchNorm2d][kind](
            4, momentum=momentum).double()
        ours = hvd.SyncBatchNorm(4, momentum=momentum).double()
        weights = torch.rand(shape)
        mine = slice(3 * hvd.rank(), 3 * hvd.rank() + 3)
        of_all, of_us = rows.clone().requires_grad_(), rows[mine].clone().requires_grad_()
        for _ in range(2):
            expected = plain(of_all)
            found = ours(of_us)
            off = found - expected[mine]
            self.assertLess(off.abs().max().item(), 1e-9)
        (expected * weights).sum().backward()
        (found * weights[mine]).sum().backward()
        self.assertTrue(torch.allclose(of_us.grad, of_all.grad[mine], atol=1e-9))
        for name in ("weight", "bias"):
            summed = hvd.allreduce(getattr(ours, name).grad, op=hvd.Sum, name=name)
            self.assertTrue(torch.allclose(summed, getattr(plain, name).grad, atol=1e-9))
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            self.assertTrue(torch.allclose(getattr(ours, name), getattr(plain, name), rtol=1e-9))
        ours.eval()
        plain.eval()
        self.assertTrue(torch.allclose(ours(of_us), plain(of_all)[mine], atol=1e-9))

    def test_is_that_of_the_batch_of_all(self):
        for kind, momentum in ((0, 0.1), (1, None), (2, 0.3)):
            self.check(kind, momentum)

    def test_what_is_no_batch_is_refused(self):
        with self.assertRaisesRegex(ValueError, "2D"):
            hvd.SyncBatchNorm(4)(torch.ones(4))


class Surroundings(unittest.TestCase):

    def test_who_is_where(self):
        self.assertTrue(hvd.is_initialized() and hvd.is_homogeneous())
        self.assertEqual((hvd.local_size(), hvd.cross_rank(), hvd.cross_size()), (hvd.size(), 0, 1))
        self.assertEqual(hvd.global_process_set.ranks, list(range(hvd.size())))
        self.assertFalse(hvd.mpi_enabled() or hvd.nccl_built() or hvd.gloo_built())


if __name__ == "__main__":
    work.run_tests()
    print("done", flush=True)
