# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of distributed_test.py: continues, ends or fails as its first
argument says."""

import datetime
import multiprocessing
import os
import sys

import torch
import torch.distributed as dist

import stretto.torch.distributed
from stretto import errors


def adds():
    """Every worker adds once, and prints the result; the future's thread still runs at the end."""
    tensor = torch.tensor([dist.get_rank() + 1.0])
    dist.all_reduce(tensor, async_op=True).get_future().wait()
    dist.new_group([0])
    dist.barrier()  # Rank 0 has the store, which others may be reading.
    print("sum", tensor.item(), flush=True)


def adds_and_destroys():
    """Adds twice, with groups destroyed in between."""
    adds()
    rank, size = dist.get_rank(), dist.get_world_size()
    store = dist.PrefixStore("again", dist.distributed_c10d._get_default_store())
    dist.destroy_process_group()
    dist.init_process_group("stretto", store=store, rank=rank, world_size=size)
    adds()
    dist.destroy_process_group()


def leaves_requests():
    """Ends without waiting for an exchange that others wait for."""
    requests = [dist.all_reduce(torch.ones(1000), async_op=True) for _ in range(10)]
    requests[0].get_future()
    print("sum", flush=True)


def leaves_callback():
    """Ends while a callback waits for its own call."""
    tensor = torch.ones(1)
    dist.all_reduce(torch.ones(1), async_op=True).get_future().then(
        lambda _: dist.all_reduce(tensor, async_op=True).wait())
    print("sum", flush=True)


def forks():
    """A forked child exits normally, while threads of its parent wait for the ends of calls."""
    dist.all_reduce(torch.ones(1), async_op=True).get_future().wait()
    child = multiprocessing.get_context("fork").Process(target=abs, args=(1,))
    child.start()
    child.join()
    assert child.exitcode == 0
    dist.barrier()
    print("sum", flush=True)


def endless():
    """Trains until it is killed."""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, 100))
    step = 0
    while True:
        model(torch.ones(4, 100)).square().mean().backward()
        step += 1
        if step % 20 == 0:
            print("progress", step, flush=True)


def raises():
    """One worker fails in the middle."""
    dist.barrier()
    if dist.get_rank() == 1:
        raise KeyError("a bug of the user's")
    dist.barrier()


def is_late():
    """The last worker never calls; the others name it, after their own timeout."""
    group = dist.new_group(timeout=datetime.timedelta(seconds=1))
    if dist.get_rank() < dist.get_world_size() - 1:
        for call in (lambda: dist.all_reduce(torch.ones(1), group=group),
                     lambda: group.monitored_barrier(datetime.timedelta(seconds=1), True)):
            try:
                call()
            except errors.Timeout as error:
                print(error, flush=True)
        dist.barrier()
        dist.all_reduce(torch.ones(1), group=group)
    else:
        dist.barrier()
        dist.all_reduce(torch.ones(1), group=group)
        dist.all_reduce(torch.ones(1), group=group)
    print("sum", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("stretto", timeout=datetime.timedelta(
        seconds=float(os.environ.get("TEST_TIMEOUT_S", "1800"))))
    globals()[sys.argv[1]]()
