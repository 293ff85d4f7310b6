# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of distributed_test.py: callbacks of futures that wait for other
futures, PyTorch's communication hooks, and the memory that calls keep, with backend stretto and
with gloo. Prints "done" if both agree.
"""

import ctypes
import gc
import os
import sys
import threading
import unittest
import weakref
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import (default_hooks, post_localSGD_hook,
                                                         powerSGD_hook)

import stretto.torch.distributed  # pylint: disable=unused-import
import work

GLOO = None  # A group of all ranks, created once.
MOST_KEPT_BYTES = 82 << 20  # 1.5 times the memory that gloo keeps for 300 tensors of 2 MB.


def resident():
    """Resident bytes of this process, without freed blocks that malloc keeps."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def begin(value):
    """The future of a sum in flight."""
    return dist.all_reduce(torch.tensor([float(value)]), async_op=True).get_future()


class Callbacks(unittest.TestCase):

    def setUp(self):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def receive(self, tag):
        """The future of a number that arrives only after this rank has sent its own."""
        return dist.irecv(torch.empty(1), (self.rank - 1) % self.size, tag=tag).get_future()

    def send(self, tag):
        """Sends the tag to the next rank."""
        dist.send(torch.tensor([float(tag)]), (self.rank + 1) % self.size, tag=tag)

    def test_callback_waits_for_call_of_its_own(self):
        chained = self.receive(1).then(lambda future: begin(2).wait()[0])
        dist.barrier()  # Now all have registered their callbacks.
        self.send(1)
        self.assertEqual(chained.wait().item(), 2 * self.size)

    def test_callbacks_wait_for_calls_behind(self):
        count, behind = 20, []

        def wait_for(number):
            return lambda future: (behind[number].wait()[0] + future.value()[0]).item()

        chained = [self.receive(number).then(wait_for(number)) for number in range(count)]
        behind += [self.receive(100 + number) for number in range(count)]
        dist.barrier()
        for number in range(count):
            self.send(number)
        self.assertFalse(any(future.done() for future in chained))
        dist.barrier()
        for number in range(count):
            self.send(100 + number)
        self.assertEqual([future.wait() for future in chained],
                         [100 + 2 * number for number in range(count)])

    def test_slow_callback_delays_no_other(self):
        ready = threading.Event()
        slow = self.receive(1).then(lambda _: ready.wait())
        quick = self.receive(2).then(lambda _: ready.set())
        dist.barrier()
        self.send(1)
        self.send(2)
        quick.wait()
        self.assertTrue(slow.wait())

    def test_error_of_callback_ends_its_future(self):
        def fail(_):
            raise ValueError("a bug of the user's")
        failed = begin(1).then(fail)
        with self.assertRaisesRegex(RuntimeError, "a bug of the user's"):
            failed.wait()
        self.assertEqual(begin(1).wait()[0].item(), self.size)


def waiting(hook):
    """The hook, which returns after its result is complete: gloo's calls need one order too."""
    def wait(state, bucket):
        found = hook(state, bucket).wait()
        future = torch.futures.Future()
        future.set_result(found)
        return future
    return wait


class Hooks(unittest.TestCase):

    def trained(self, group, register, steps=6, bucket_cap_mb=25):
        """The parameters after some steps with a hook."""
        torch.manual_seed(3)
        layers = [nn.Linear(12, 600), nn.Tanh(), nn.Linear(600, 600), nn.Tanh(),
                  nn.Linear(600, 600), nn.Tanh(), nn.Linear(600, 3)]
        model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers), process_group=group,
                                                    bucket_cap_mb=bucket_cap_mb)
        register(model, group)
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        for step in range(steps):
            generator = torch.Generator().manual_seed(10 * step + dist.get_rank())
            inputs = torch.randn(8, 12, generator=generator)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), inputs[:, :3] * 2 - 1).backward()
            optimizer.step()
        return torch.cat([value.detach().view(-1) for value in model.parameters()])

    def assert_as_by_gloo(self, register, precision=1e-3, **options):
        found, expected = (self.trained(group, register, **options) for group in (None, GLOO))
        self.assertTrue(torch.isfinite(found).all())
        torch.testing.assert_close(found, expected, rtol=precision, atol=precision)

    def power_sgd(self, hook):
        def register(model, group):
            state = powerSGD_hook.PowerSGDState(
                group, matrix_approximation_rank=2, start_powerSGD_iter=2,
                min_compression_rate=0.5)
            model.register_comm_hook(state, waiting(hook) if group is GLOO else hook)
        return register

    def test_power_sgd(self):
        self.assert_as_by_gloo(self.power_sgd(powerSGD_hook.powerSGD_hook))

    def test_power_sgd_with_many_buckets(self):
        self.assert_as_by_gloo(self.power_sgd(powerSGD_hook.powerSGD_hook), bucket_cap_mb=0.02)

    def test_batched_power_sgd(self):
        own = powerSGD_hook._orthogonalize

        def orthogonalize(matrix, *options):  # PyTorch 1.13's version rejects the hook's matrices.
            own(matrix if matrix.dim() == 3 else matrix.unsqueeze(0), *options)

        with mock.patch.object(powerSGD_hook, "_orthogonalize", orthogonalize):
            self.assert_as_by_gloo(self.power_sgd(powerSGD_hook.batched_powerSGD_hook),
                                   bucket_cap_mb=0.02)

    def test_fp16_compress(self):
        def register(model, group):  # Gloo of PyTorch 2.14 has no sums of float16.
            model.register_comm_hook(group, default_hooks.allreduce_hook if group is GLOO
                                     else default_hooks.fp16_compress_hook)
        self.assert_as_by_gloo(register, precision=5e-3)

    def test_bf16_compress(self):
        def compress(group, bucket):  # By another name: PyTorch requires CUDA for its own.
            return default_hooks.bf16_compress_hook(group, bucket)

        def register(model, group):  # Gloo has no sums of bfloat16.
            model.register_comm_hook(group, default_hooks.allreduce_hook if group is GLOO
                                     else compress)
        self.assert_as_by_gloo(register, precision=2e-2)

    def test_post_local_sgd(self):
        def register(model, group):
            state = post_localSGD_hook.PostLocalSGDState(
                group, subgroup=group or dist.group.WORLD, start_localSGD_iter=3)
            model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
        self.assert_as_by_gloo(register)


class Memory(unittest.TestCase):

    def test_ended_calls_keep_no_tensors(self):
        alive = weakref.WeakSet()
        before = resident()
        for at in range(300):
            tensor = torch.ones(1 << 19)
            alive.add(tensor)
            if at % 2:
                dist.all_reduce(tensor)
            else:
                dist.all_reduce(tensor, async_op=True).get_future().wait()
            del tensor
        self.assertLess(len(alive), 8)
        self.assertLess(resident() - before, MOST_KEPT_BYTES)

    def test_dropped_modules_leave_no_buckets(self):
        def train_once():
            model = nn.parallel.DistributedDataParallel(nn.Linear(1600, 1600))
            model(torch.ones(1, 1600)).sum().backward()
            del model
            gc.collect()
            dist.all_reduce(torch.ones(1))
        for _ in range(3):
            train_once()
        before = resident()
        for _ in range(20):  # Of 10 MB each.
            train_once()
        self.assertLess(resident() - before, MOST_KEPT_BYTES)

    def test_result_stays_while_the_program_has_the_work(self):
        request = dist.all_reduce(torch.ones(4), async_op=True)
        request.wait()
        for _ in range(3):
            dist.all_reduce(torch.ones(1))
        self.assertEqual(request.result()[0].tolist(), [dist.get_world_size()] * 4)


if __name__ == "__main__":
    dist.init_process_group("stretto")
    GLOO = dist.new_group(backend="gloo")
    work.run_tests(sys.argv[1:])
    print("done", flush=True)
