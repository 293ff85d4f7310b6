# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of distributed_test.py: PyTorch 2's additional calls on a group,
through the group's own methods, so that every version of PyTorch can run them. Prints "done" on
success."""

import datetime
import importlib
import subprocess
import sys
import types
import unittest
from unittest import mock

import torch
import torch.distributed as dist

import stretto.torch.distributed  # pylint: disable=unused-import
import work
from stretto import errors
from stretto.torch.distributed import compiling, works

IMPORT = """
import importlib, torch.distributed, warnings
warnings.simplefilter("error")
import stretto.torch.distributed
importlib.reload(stretto.torch.distributed)
"""


class Names(unittest.TestCase):

    def setUp(self):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.world = dist.distributed_c10d._get_default_group()

    def test_group_has_name_and_description(self):
        group = dist.new_group()
        group.setGroupName("of a test")
        group.setGroupDesc("for a test")
        self.assertEqual((group.getGroupName(), group.getGroupDesc()), ("of a test", "for a test"))
        if hasattr(dist.ProcessGroup, "group_name"):  # C++ of PyTorch 2 reads it.
            self.assertEqual((group.group_name, group.group_desc), ("of a test", "for a test"))
            self.assertNotEqual(self.world.group_name, "")

    def test_group_is_its_own_backend(self):
        self.assertEqual(self.world._device_types, [torch.device("cpu")])
        self.assertIs(self.world._get_backend(torch.device("cpu")), self.world)
        self.assertFalse(self.world.supports_splitting or self.world.supports_coalescing)
        with self.assertRaisesRegex(RuntimeError, "for tensors of the CPU, .* on cuda"):
            self.world._get_backend(torch.device("cuda"))

    def test_timeout_of_a_group_changes(self):
        group = dist.new_group()
        group.set_timeout(datetime.timedelta(seconds=1))
        if self.rank == 0:
            with self.assertRaisesRegex(errors.Timeout, "not done within 1 s"):
                group.allreduce([torch.ones(1)]).wait()
        dist.barrier()
        if self.rank:
            group.allreduce([torch.ones(1)]).wait()

    def gathered(self, inputs_of):
        inputs = inputs_of(self.rank)
        outputs = [torch.empty(self.size * tensor.numel(), dtype=tensor.dtype)
                   for tensor in inputs]
        self.world.all_gather_single_coalesced(outputs, inputs).wait()
        for at, output in enumerate(outputs):
            expected = torch.cat([inputs_of(rank)[at].view(-1) for rank in range(self.size)])
            self.assertTrue(torch.equal(output, expected), output)

    def test_gathers_go_by_one_exchange(self):
        group = self.world._group
        with mock.patch.object(self.world, "_group", mock.Mock(wraps=group)) as watched:
            self.gathered(lambda rank: [torch.full((3, 2), rank + 1.0), torch.full((5,), rank * 1.),
                                        torch.ones(0)])
        self.assertEqual(watched.all_gather.call_count, 1)

    def test_gathers_of_several_types(self):
        self.gathered(lambda rank: [torch.full((3,), rank + 0.5), torch.full((2, 2), rank),
                                    torch.tensor([rank == 0, True])])

    def test_scattered_sums_of_several_types(self):
        inputs = [torch.arange(4.0 * self.size) + self.rank, torch.arange(2 * self.size),
                  torch.ones(self.size) * (self.rank + 1)]
        outputs = [torch.empty(4), torch.empty(2, dtype=torch.int64), torch.empty(1)]
        request = self.world.reduce_scatter_single_coalesced(outputs, inputs)
        self.assertEqual(len(request.get_future().wait()), 3)
        ranks = sum(range(self.size))
        whole = [torch.arange(4.0 * self.size) * self.size + ranks,
                 torch.arange(2 * self.size) * self.size,
                 torch.ones(self.size) * (ranks + self.size)]
        for output, one in zip(outputs, whole):
            self.assertTrue(torch.equal(output, one.chunk(self.size)[self.rank]), output)
        self.assertTrue(request.is_completed() and request.is_success())

    def test_parts_that_do_not_fit_are_refused(self):
        for outputs, inputs, words in (([torch.empty(self.size + 1)], [torch.ones(1)],
                                        f"{self.size + 1} elements for {self.size} members"),
                                       ([torch.empty(2 * self.size)], [torch.ones(1)],
                                        r"parts of \[2\] elements for a member, wanted \[1\]"),
                                       ([torch.empty(2, self.size).t()], [torch.ones(2)],
                                        "a contiguous one")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                self.world.allgather_into_tensor_coalesced(outputs, inputs)

    def test_calls_of_one_tensor(self):
        """The short forms, for programs that call a group's methods directly."""
        last, ranks = self.size - 1, list(range(self.size))
        mine, total = torch.full((2,), float(self.rank)), float(sum(ranks))
        for call, wanted in (
                (lambda tensor: self.world.broadcast(tensor, root=last), float(last)),
                (self.world.allreduce, total),
                (lambda tensor: self.world.allreduce(tensor, dist.ReduceOp.MAX), float(last)),
                (lambda tensor: self.world.allreduce([tensor], dist.ReduceOp.MIN), 0.0),
                (lambda tensor: self.world.reduce(tensor, root=last),
                 total if self.rank == last else float(self.rank))):
            tensor = mine.clone()
            [found] = call(tensor).get_future().wait()
            self.assertEqual((found.tolist(), tensor.tolist()), ([wanted] * 2, [wanted] * 2))
        rows = [torch.empty(2) for _ in ranks]
        gathered = self.world.allgather(rows, mine).get_future().wait()
        self.assertEqual([row.tolist() for row in gathered], [[float(rank)] * 2 for rank in ranks])
        rows = [torch.empty(2) for _ in ranks] if self.rank == last else []
        gathered = self.world.gather(rows, mine, root=last).get_future().wait()
        self.assertEqual([row[0].item() for row in gathered], ranks if rows else [])
        rows = [torch.full((2,), rank + 1.0) for rank in ranks]
        scattered = torch.empty(2)
        self.world.scatter(scattered, rows if self.rank == last else [], root=last).wait()
        self.assertEqual(scattered.tolist(), [self.rank + 1.0] * 2)
        self.world.reduce_scatter(scattered, rows).wait()
        self.assertEqual(scattered.tolist(), [self.size * (self.rank + 1.0)] * 2)

    def test_wrong_roots_and_no_tensors_are_refused(self):
        for call, words in ((lambda: self.world.broadcast(torch.ones(1), root=-1), "root -1"),
                            (lambda: self.world.broadcast(torch.ones(1), root=self.size),
                             f"root {self.size} in a group of {self.size}"),
                            (lambda: self.world.allgather([], [torch.ones(1)]), "0 lists"),
                            (lambda: self.world.allgather([[torch.ones(1).double()] * self.size],
                                                          [torch.ones(1)]),
                             "have types float32, float64"),
                            (lambda: self.world.allreduce_coalesced([]), "no tensors")):
            with self.assertRaisesRegex(errors.InvalidArgument, words):
                call()

    def test_calls_that_a_program_holds_keep_their_tensors(self):
        requests = [self.world.allreduce([torch.full((1,), float(at))]) for at in range(400)]
        for at, request in enumerate(requests):
            [found] = request.get_future().wait()
            self.assertEqual(found.item(), at * self.size)
        self.assertEqual([request.result()[0].item() for request in requests],
                         [at * self.size for at in range(400)])

    def test_tensors_of_inference_mode(self):
        with torch.inference_mode():
            rows = [torch.empty(2) for _ in range(self.size)]
            request = self.world.allgather([rows], [torch.full((2,), float(self.rank))])
        request.wait()  # In another mode, as in a future's callbacks.
        self.assertEqual([row[0].item() for row in rows], list(range(self.size)))

    def test_gather_into_one_tensor(self):
        opts = dist.GatherOptions()
        opts.rootRank = self.size - 1
        is_root = self.rank == self.size - 1
        found = torch.empty(2 * self.size if is_root else 0)
        self.world.gather_single(found, torch.full((2,), float(self.rank)), opts).wait()
        expected = torch.arange(float(self.size)).repeat_interleave(2)
        self.assertTrue(not is_root or torch.equal(found, expected), found)

    def test_sparse_sums_and_means(self):
        for op, divisor in ((dist.ReduceOp.SUM, 1), (dist.ReduceOp.AVG, self.size)):
            tensors = [torch.sparse_coo_tensor([[0] + list(range(rank)), [1] + [0] * rank],
                                               torch.ones(rank + 1, 2), (5, 2, 2))
                       for rank in range(self.size)]
            found = tensors[self.rank].clone()
            dist.all_reduce(found, op)
            expected = sum(tensor.to_dense() for tensor in tensors) / divisor
            self.assertTrue(torch.equal(found.to_dense(), expected), found)
        with self.assertRaisesRegex(errors.Unsupported, "max of sparse tensors"):
            dist.all_reduce(found, dist.ReduceOp.MAX)

    def test_import_gives_no_warning(self):
        if self.rank == 0:
            subprocess.run([sys.executable, "-c", IMPORT], check=True)

    def test_calls_import_no_compiler(self):
        dist.all_reduce(torch.ones(1))
        self.assertNotIn("torch._dynamo", sys.modules)

    def test_caller_is_found_behind_the_compiler(self):
        @compiling.untraced
        class Kind:
            def caller(self):
                return works._calling_module()
        with mock.patch.dict(sys.modules):
            importlib.import_module("torch.optim" if torch.__version__.startswith("1.")
                                    else "torch._dynamo")
            self.assertEqual(Kind().caller(), __name__)

    def test_class_stays_as_it_is_without_a_compiler(self):
        class Kind:
            def call(self):
                return 1
        own = Kind.call
        with mock.patch.object(compiling, "torch", types.SimpleNamespace()):
            self.assertIs(compiling.untraced(Kind).call, own)


if __name__ == "__main__":
    dist.init_process_group("stretto")
    work.run_tests(sys.argv[1:])
    print("done", flush=True)
