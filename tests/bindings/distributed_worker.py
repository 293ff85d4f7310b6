# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of distributed_test.py: each call of torch.distributed by backend
stretto and by gloo in the same process must give the same result. Prints "done" if so.
"""

import datetime
import sys
import unittest

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer

import stretto.torch.distributed as st_dist
import work
from stretto import errors

GLOO = None  # A group of all, made once.
KINDS = (torch.float32, torch.float64, torch.float16, torch.int8, torch.uint8, torch.int32,
         torch.int64)
OPS = (dist.ReduceOp.SUM, dist.ReduceOp.MIN, dist.ReduceOp.MAX, dist.ReduceOp.PRODUCT)
BITS = (dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR)
SIZES = (0, 1, 7, 5000, 70_000)


def numbers(size, kind, rank, low=-3):
    """Numbers of one rank, so small that integers stay in range in sums of three."""
    generator = torch.Generator().manual_seed(100 + rank)
    low = 0 if kind is torch.uint8 else low
    if kind.is_floating_point:
        return torch.randn(size, generator=generator).to(kind)
    return torch.randint(low, 4, (size,), generator=generator).to(kind)


class Test(unittest.TestCase):

    def setUp(self):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def mine(self, size, kind=torch.float32):
        return numbers(size, kind, self.rank)

    def assert_alike(self, found, expected, exact=True, what=""):
        if exact or not found.is_floating_point():
            self.assertTrue(torch.equal(found, expected), f"{what}: {found} {expected}")
        else:
            precision = {torch.float16: 2e-2, torch.float32: 1e-5, torch.float64: 1e-12}
            close = torch.allclose(found.double(), expected.double(), rtol=precision[found.dtype],
                                   atol=precision[found.dtype])
            self.assertTrue(close, f"{what}: {found} {expected}")

    def both(self, call, exact=True, what=""):
        """Compares the results of call(group) with both backends."""
        found = call(None)
        try:
            expected = call(GLOO)
        except RuntimeError as error:
            if "Invalid scalar type" not in str(error):
                raise
            return  # Gloo of some versions refuses some types.
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assert_alike(one, other, exact, what)


class Reductions(Test):

    def test_every_type_and_operation(self):
        for kind in KINDS:
            for op in OPS:
                for size in SIZES:
                    def call(group):
                        tensor = self.mine(size, kind)
                        dist.all_reduce(tensor, op, group)
                        return [tensor]
                    self.both(call, exact=self.size == 2, what=f"{kind} {op} {size}")

    def test_types_that_gloo_lacks(self):
        for kind in (torch.bfloat16, torch.int16, torch.bool):
            parts = [numbers(1000, torch.int64, rank).to(kind) for rank in range(self.size)]
            tensor = parts[self.rank].clone()
            dist.all_reduce(tensor)
            total = sum(part.long() for part in parts)
            self.assertTrue(torch.equal(tensor, (total > 0 if kind is torch.bool else total)
                                        .to(kind)), kind)

    def test_complex_numbers(self):
        tensor = torch.complex(self.mine(50), self.mine(50))
        dist.all_reduce(tensor)
        total = sum(numbers(50, torch.float32, rank) for rank in range(self.size))
        self.assert_alike(tensor.real, total, exact=self.size == 2)
        self.assert_alike(tensor.imag, total, exact=self.size == 2)

    def test_bits(self):
        parts = [numbers(1000, torch.int32, rank) for rank in range(self.size)]
        for op, make in zip(BITS, (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor)):
            tensor = parts[self.rank].clone()
            dist.all_reduce(tensor, op)
            expected = parts[0]
            for part in parts[1:]:
                expected = make(expected, part)
            self.assertTrue(torch.equal(tensor, expected), op)
        with self.assertRaisesRegex(errors.InvalidArgument, "and of f32 is not defined"):
            dist.all_reduce(torch.ones(3), dist.ReduceOp.BAND)
        dist.barrier()

    def test_averages(self):
        for kind in (torch.float32, torch.float64, torch.float16, torch.int64, torch.int32):
            tensor = self.mine(100, kind)
            parts = [numbers(100, kind, rank).double() for rank in range(self.size)]
            expected = sum(parts) / self.size
            if not kind.is_floating_point:
                expected = expected.floor()
            dist.all_reduce(tensor, dist.ReduceOp.AVG)
            self.assert_alike(tensor, expected.to(kind), exact=False)

    def test_reduce(self):
        for root in range(self.size):
            def call(group):
                tensor = self.mine(300)
                dist.reduce(tensor, root, group=group)
                return [tensor] if self.rank == root else []
            self.both(call, exact=self.size == 2)
        tensor = self.mine(300)
        dist.reduce(tensor, 0)
        if self.rank:
            self.assertTrue(torch.equal(tensor, self.mine(300)))

    def test_reduce_scatter(self):
        whole = self.mine(self.size * 50).split(50)
        expected = sum(numbers(self.size * 50, torch.float32, rank) for rank in range(self.size))
        expected = expected[self.rank * 50:(self.rank + 1) * 50]
        found = torch.empty(50)
        dist.reduce_scatter(found, [part.clone() for part in whole])
        self.assert_alike(found, expected, exact=self.size == 2)
        dist.reduce_scatter_tensor(found.zero_(), torch.cat(whole), dist.ReduceOp.AVG)
        self.assert_alike(found, expected / self.size, exact=False)

    def test_coalesced(self):
        tensors = [self.mine(30), self.mine(7).view(7, 1)]
        dist.all_reduce_coalesced(tensors)
        for tensor in tensors:
            expected = sum(numbers(tensor.numel(), torch.float32, rank)
                           for rank in range(self.size))
            self.assert_alike(tensor.view(-1), expected, exact=self.size == 2)
        tensors = [self.mine(30), self.mine(7)]
        dist.all_reduce_coalesced(tensors, async_op=True).wait()
        self.assert_alike(tensors[1], expected, exact=self.size == 2)

    def test_strange_layouts(self):
        def call(group):
            tensor = self.mine(60).view(6, 10).t()[:, ::2]
            dist.all_reduce(tensor, group=group)
            scalar = torch.tensor(float(self.rank))
            dist.all_reduce(scalar, group=group)
            leaf = nn.Parameter(self.mine(4))
            dist.all_reduce(leaf.data, group=group)
            return [scalar, leaf.detach()] + ([] if group else [tensor])
        expected = sum(numbers(60, torch.float32, rank) for rank in range(self.size))
        *plain, tensor = call(None)
        self.assert_alike(tensor, expected.view(6, 10).t()[:, ::2], exact=self.size == 2)
        for one, other in zip(plain, call(GLOO)):
            self.assert_alike(one, other, exact=self.size == 2)


class Moves(Test):

    def test_broadcast(self):
        for kind in (*KINDS, torch.bool, torch.complex64):
            for root in range(self.size):
                tensor = self.mine(200, torch.int64).to(kind)
                dist.broadcast(tensor, root)
                self.assertTrue(torch.equal(tensor, numbers(200, torch.int64, root).to(kind)))

    def test_views_that_are_not_their_memory(self):
        for view in (torch.Tensor.conj, torch._neg_view):  # pylint: disable=protected-access
            tensor = torch.complex(self.mine(5), self.mine(5) + 1)
            opts = dist.BroadcastOptions()  # PyTorch 2.14's own broadcast() refuses such views.
            opts.rootRank = 1
            dist.distributed_c10d._get_default_group().broadcast([view(tensor)], opts).wait()
            first = torch.complex(numbers(5, torch.float32, 1), numbers(5, torch.float32, 1) + 1)
            self.assertTrue(torch.equal(tensor, first), view)

    def test_all_gather(self):
        for kind in KINDS:
            def call(group):
                tensors = [torch.empty(11, 3, dtype=kind) for _ in range(self.size)]
                dist.all_gather(tensors, self.mine(33, kind).view(11, 3), group)
                return tensors
            self.both(call, what=kind)
        rows = torch.empty(self.size, 9)
        dist.all_gather(list(rows), self.mine(9))  # Outputs in one piece of memory.
        flat = torch.empty(self.size * 9)
        dist.all_gather_into_tensor(flat, self.mine(9))
        self.assertTrue(torch.equal(rows.view(-1), flat))
        inside = torch.empty(self.size * 9)
        block = inside[self.rank * 9:(self.rank + 1) * 9]
        block.copy_(self.mine(9))
        dist.all_gather_into_tensor(inside, block)
        self.assertTrue(torch.equal(inside, flat))

    def test_all_gather_coalesced(self):
        outputs = [[torch.empty(2), torch.empty(3)] for _ in range(self.size)]
        dist.all_gather_coalesced(outputs, [self.mine(2), self.mine(3)])
        for rank, (two, three) in enumerate(outputs):
            self.assertTrue(torch.equal(two, numbers(2, torch.float32, rank)))
            self.assertTrue(torch.equal(three, numbers(3, torch.float32, rank)))

    def test_gather_and_scatter(self):
        for root in range(self.size):
            def gather(group):
                outputs = [torch.empty(5) for _ in range(self.size)] if self.rank == root else None
                dist.gather(self.mine(5), outputs, root, group)
                return outputs or []

            def scatter(group):
                found = torch.empty(5)
                inputs = list(self.mine(5 * self.size).split(5)) if self.rank == root else None
                dist.scatter(found, inputs, root, group)
                return [found]
            self.both(gather)
            self.both(scatter)

    def test_all_to_all(self):
        def single(group):
            found = torch.empty(self.size * 4, 2)
            dist.all_to_all_single(found, self.mine(self.size * 8).view(-1, 2), group=group)
            return [found]

        def uneven(group):
            give = [rank + 1 for rank in range(self.size)]
            take = [self.rank + 1] * self.size
            found = torch.empty(sum(take), 3)
            dist.all_to_all_single(found, self.mine(3 * sum(give)).view(-1, 3), take, give,
                                   group=group)
            return [found]
        self.both(single)
        self.both(uneven)
        found = [torch.empty(self.rank + 1) for _ in range(self.size)]
        dist.all_to_all(found, [numbers(to + 1, torch.float32, self.rank)
                                for to in range(self.size)])
        for rank, tensor in enumerate(found):
            self.assertTrue(torch.equal(tensor, numbers(self.rank + 1, torch.float32, rank)))
        inside = self.mine(self.size * 2)
        dist.all_to_all_single(inside, inside)
        self.assertTrue(torch.equal(inside[:2], numbers(self.size * 2, torch.float32, 0)[
            self.rank * 2:self.rank * 2 + 2]))

    def test_sends(self):
        right, left = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        for kind in (torch.float32, torch.bool):
            found = torch.empty(20, dtype=kind)
            sent = dist.isend(self.mine(20, torch.int64).to(kind), right, tag=4)
            self.assertEqual(dist.recv(found, left, tag=4), left)
            sent.wait()
            self.assertTrue(torch.equal(found, numbers(20, torch.int64, left).to(kind)))
        found = torch.empty(20)
        for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, self.mine(20), right),
                                               dist.P2POp(dist.irecv, found, left)]):
            request.wait()
        self.assertTrue(torch.equal(found, numbers(20, torch.float32, left)))
        if self.size > 2:
            with self.assertRaisesRegex(errors.Unsupported, "give src="):
                dist.recv(found)
            return
        sent = dist.isend(self.mine(20), right)
        self.assertEqual(dist.recv(found), left)
        sent.wait()

    def test_objects(self):
        found = [None] * self.size
        dist.all_gather_object(found, {"rank": self.rank, "more": "x" * self.rank})
        self.assertEqual(found, [{"rank": rank, "more": "x" * rank} for rank in range(self.size)])
        words = [["a", 1], None] if self.rank == 1 else [None, None]
        dist.broadcast_object_list(words, src=1)
        self.assertEqual(words, [["a", 1], None])
        outputs = [None] * self.size if self.rank == 0 else None
        dist.gather_object(self.rank, outputs, dst=0)
        self.assertEqual(outputs, list(range(self.size)) if self.rank == 0 else None)
        mine = [None]
        dist.scatter_object_list(mine, list("abc")[:self.size] if self.rank == 0 else None, src=0)
        self.assertEqual(mine, ["abc"[self.rank]])

    def test_barriers(self):
        dist.barrier()
        dist.barrier(async_op=True).wait()
        world = dist.distributed_c10d._get_default_group()
        world.monitored_barrier(datetime.timedelta(seconds=60))

    def test_groups_of_some(self):
        pair = dist.new_group([0, self.size - 1])
        alone = dist.new_group([0])
        tensor = torch.tensor([self.rank + 1.0])
        if self.rank in (0, self.size - 1):
            dist.all_reduce(tensor, group=pair)
            self.assertEqual(tensor.item(), 1.0 + self.size)
            dist.broadcast(tensor.zero_() if self.rank == 0 else tensor, self.size - 1, pair)
            self.assertEqual(tensor.item(), 1.0 + self.size)
            self.assertEqual(dist.get_rank(pair), int(self.rank > 0))
        if self.rank == 0:
            for call in (dist.all_reduce, lambda one, group: dist.broadcast(one, 0, group)):
                call(tensor, group=alone)
                self.assertEqual(tensor.item(), 1.0 + self.size)


class Requests(Test):

    def test_works(self):
        tensor = torch.ones(4).view(2, 2).t()[:1]  # A copy is written back at the end.
        request = dist.all_reduce(tensor, async_op=True)
        self.assertTrue(request.wait())
        self.assertTrue(request.is_completed() and request.is_success())
        self.assertIsNone(request.exception())
        self.assertEqual(tensor.tolist(), [[self.size] * 2])
        tensor = torch.ones(4)
        [found] = dist.all_reduce(tensor, async_op=True).get_future().wait()
        self.assertIs(found, tensor)
        self.assertEqual(found.tolist(), [self.size] * 4)

    def test_futures_end_in_any_order(self):
        left, right = torch.empty(1), (self.rank + 1) % self.size
        late = dist.irecv(left, (self.rank - 1) % self.size, tag=1)
        waits = late.get_future()
        dist.all_reduce(torch.ones(1), async_op=True).get_future().wait()
        self.assertFalse(waits.done() and late.is_completed() and not late.is_success())
        dist.send(torch.tensor([float(self.rank)]), right, tag=1)
        waits.wait()
        self.assertEqual(left.item(), (self.rank - 1) % self.size)

    def test_what_cannot_be_is_refused_here(self):
        world = dist.distributed_c10d._get_default_group()
        for words, call in (
                ("3 tensors for 2 members|1 tensors for", lambda: dist.all_gather(
                    [torch.empty(1)] * (3 if self.size == 2 else 1), torch.ones(1))),
                ("has 2 elements, wanted 1", lambda: dist.all_gather(
                    [torch.empty(2)] * self.size, torch.ones(1))),
                ("2 tensors, wanted one", lambda: world.allreduce([torch.ones(1)] * 2)),
                ("complex64 is not supported", lambda: world.allreduce(
                    [torch.ones(1, dtype=torch.complex64)])),
                ("types float64, int64, wanted one", lambda:
                 dist.all_gather_into_tensor(torch.empty(self.size, dtype=torch.int64),
                                             torch.ones(1, dtype=torch.float64))),
                ("rows for", lambda: dist.all_to_all_single(
                    torch.empty(self.size + 1), torch.empty(self.size + 1)))):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                call()
        with self.assertRaisesRegex(TypeError, "sparse"):
            dist.broadcast(torch.eye(2).to_sparse(), 0)
        with self.assertRaisesRegex(ValueError, "'star', wanted one of"):
            dist.new_group(pg_options=st_dist.Options(exchange="star"))


class Disagreements(Test):

    def fails(self, call, *words):
        """The call fails at all ranks within seconds, in a group that is not used again."""
        group = dist.new_group(timeout=datetime.timedelta(seconds=30))
        with self.assertRaises(errors.Mismatch) as raised:
            call(group)
        for word in words:
            self.assertIn(word, str(raised.exception))
        with self.assertRaises(errors.Mismatch):
            dist.all_reduce(torch.ones(1), group=group)
        dist.barrier()

    def four_or_five(self):
        return torch.ones(4 + (self.rank == self.size - 1))

    def test_sizes(self):
        self.fails(lambda group: dist.all_reduce(self.four_or_five(), group=group),
                   "all_reduce(sum, f32[4])", "all_reduce(sum, f32[5])")

    def test_types(self):
        kind = torch.float32 if self.rank == 0 else torch.int32
        self.fails(lambda group: dist.all_reduce(torch.ones(4, dtype=kind), group=group),
                   "all_reduce(sum, f32[4])", "all_reduce(sum, i32[4])")

    def test_operations(self):
        op = dist.ReduceOp.MAX if self.rank == 0 else dist.ReduceOp.SUM
        self.fails(lambda group: dist.all_reduce(torch.ones(4), op, group),
                   "all_reduce(sum, f32[4])", "all_reduce(max, f32[4])")

    def test_order(self):
        def call(group):
            calls = [lambda: dist.broadcast(torch.ones(4), 0, group),
                     lambda: dist.all_reduce(torch.ones(4), group=group)]
            for one in calls if self.rank == 0 else reversed(calls):
                one()
        self.fails(call, "broadcast(u8[16], root 0)", "all_reduce(sum, f32[4])")

    def test_waits_and_futures(self):
        self.fails(lambda group: dist.all_reduce(self.four_or_five(), group=group,
                                                 async_op=True).wait(), "f32[4]", "f32[5]")

        def call(group):
            request = dist.all_reduce(self.four_or_five(), group=group, async_op=True)
            with self.assertRaisesRegex(RuntimeError, r"Mismatch: .*f32\[5\]"):
                request.get_future().wait()
            self.assertTrue(request.is_completed() and not request.is_success())
            raise request.exception()
        self.fails(call, "f32[4]", "f32[5]")

    def test_modules(self):
        def call(group):
            layer = nn.Linear(3, 2)
            layer.register_buffer("mean", torch.zeros(3))
            model = nn.parallel.DistributedDataParallel(layer, process_group=group)
            model(torch.ones(1, 3)).sum().backward()
            loss = model(torch.ones(1, 3)).sum()
            if self.rank == 0:
                dist.all_reduce(torch.ones(99), group=group)
            loss.backward()
        self.fails(call, "f32[99]", "f32[8]")

    def test_buffers_of_modules(self):
        def call(group):
            layer = nn.BatchNorm1d(3)
            model = nn.parallel.DistributedDataParallel(layer, process_group=group)
            if self.rank == 0:
                dist.all_reduce(torch.ones(99), group=group)
            model(torch.ones(2, 3))
        self.fails(call, "f32[99]", "broadcast")


class Training(Test):

    def model(self):
        torch.manual_seed(5)
        return nn.Sequential(nn.Linear(12, 300), nn.BatchNorm1d(300), nn.Tanh(),
                             nn.Linear(300, 400), nn.Tanh(), nn.Linear(400, 3))

    def steps(self, group, optimizer_of=None, **options):
        """The parameters and buffers after each of some steps."""
        model = nn.parallel.DistributedDataParallel(self.model(), process_group=group,
                                                    bucket_cap_mb=0.1, **options)
        make = optimizer_of or (lambda parameters: torch.optim.SGD(parameters, 0.05, momentum=0.9))
        optimizer = make(model.parameters())
        states = []
        for step in range(6):
            inputs = numbers(96, torch.float32, 10 * step + self.rank).view(8, 12)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), inputs[:, :3] * 2 - 1).backward()
            optimizer.step()
            states.append(torch.cat([value.detach().double().view(-1)
                                     for value in model.state_dict().values()]))
        return states

    def assert_trains_as_by_gloo(self, **options):
        for found, expected in zip(self.steps(None, **options), self.steps(GLOO, **options)):
            close = torch.allclose(found, expected, rtol=1e-4, atol=1e-6)
            self.assertTrue(torch.equal(found, expected) if self.size == 2 else close)

    def test_modules(self):
        self.assert_trains_as_by_gloo()

    def test_modules_with_unused_parameters(self):
        self.assert_trains_as_by_gloo(find_unused_parameters=True, gradient_as_bucket_view=True)

    def test_zero_redundancy(self):
        def sharded(group):
            return lambda parameters: ZeroRedundancyOptimizer(
                parameters, torch.optim.SGD, process_group=group, lr=0.05, momentum=0.9)
        found = self.steps(None, sharded(None))
        expected = self.steps(GLOO, sharded(GLOO))
        plain = self.steps(None)
        for one, other, whole in zip(found, expected, plain):
            self.assertTrue(torch.allclose(one, other, rtol=1e-4, atol=1e-6))
            self.assertTrue(torch.allclose(one, whole, rtol=1e-4, atol=1e-6))

    def test_hooks(self):
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        for group in (None, GLOO):
            model = nn.parallel.DistributedDataParallel(self.model(), process_group=group)
            model.register_comm_hook(group, default_hooks.allreduce_hook if group is GLOO
                                     else default_hooks.fp16_compress_hook)
            model(self.mine(96).view(8, 12)).square().mean().backward()
            grads = torch.cat([one.grad.view(-1) for one in model.parameters()])
            if group is None:
                found = grads
        self.assertTrue(torch.allclose(found, grads, rtol=1e-2, atol=1e-3))

    def test_other_trees(self):
        for way in ("ring", "halving", "tree"):
            group = dist.new_group(pg_options=st_dist.Options(way, deterministic=True))
            def call(by):
                tensor = self.mine(70_000)
                dist.all_reduce(tensor, group=by or group)
                return [tensor]
            self.both(call, exact=self.size == 2)


if __name__ == "__main__":
    dist.init_process_group("stretto")
    GLOO = dist.new_group(backend="gloo")
    work.run_tests(sys.argv[1:])
    print("done", flush=True)
