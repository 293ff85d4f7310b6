# SPDX-License-Identifier: Apache-2.0
"""Run by both workers of a job of distributed_late_test.py: rank 0 makes calls of 600 MB in all
before rank 1 makes its first. The memory of rank 1 is bounded meanwhile, and the results are right.
The argument is the call."""

import os
import sys

import torch
import torch.distributed as dist

import stretto.torch.distributed  # pylint: disable=unused-import

CALLS = 6
ELEMENTS = 25_000_000  # 100 MB.
MOST_GROWTH = 160 << 20  # 64 MiB may be sent ahead; the links' windows are included.
LATE = 1


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def reduce(tensor, _):
    return dist.reduce(tensor, dst=LATE, async_op=True)


def broadcast(tensor, _):
    return dist.broadcast(tensor, src=0, async_op=True)


def reduce_scatter(tensor, output):
    return dist.reduce_scatter_tensor(output, tensor, async_op=True)


def all_reduce(tensor, _):
    return dist.all_reduce(tensor, op=dist.ReduceOp.MAX, async_op=True)


# Results of 1 at rank 0 and 2 at rank 1; all_reduce gets the same tensor repeatedly.
RESULTS = {reduce: 3.0, broadcast: 1.0, reduce_scatter: 3.0, all_reduce: 2.0}


def check(call, tensor, output):
    found = output if call is reduce_scatter else tensor
    assert found.min() == found.max() == RESULTS[call], (found.min(), found.max())


def main():
    call = globals()[sys.argv[1]]
    side = dist.new_group()
    rank = dist.get_rank()
    tensors = [torch.full((ELEMENTS,), rank + 1.0)]
    if call is all_reduce and rank != LATE:  # The calls write each tensor.
        tensors += [tensors[0].clone() for _ in range(CALLS - 1)]
    output = torch.zeros(ELEMENTS // 2)
    dist.barrier()
    met = torch.ones(1)
    if rank != LATE:
        works = [call(tensors[i % len(tensors)], output) for i in range(CALLS)]
        dist.all_reduce(met, group=side)  # Ordered behind all data of the calls.
        for work in works:
            work.wait()
        if call is not reduce:
            for tensor in tensors:
                check(call, tensor, output)
    else:
        before = resident_bytes()
        dist.all_reduce(met, group=side)
        growth = resident_bytes() - before
        print(f"MEASURED growth in MiB before {call.__name__}: {growth >> 20}", flush=True)
        assert growth < MOST_GROWTH, growth
        for _ in range(CALLS):
            tensors[0].fill_(rank + 1.0)
            call(tensors[0], output).wait()
            check(call, tensors[0], output)
    dist.barrier()
    print("done", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("stretto")
    main()
