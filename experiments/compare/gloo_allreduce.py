# SPDX-License-Identifier: Apache-2.0
"""One rank of torch.distributed's all_reduce over gloo, for SECONDS, with INFLIGHT tensors at a
time. Rank 0 prints one line of JSON. Started by experiments/compare/run.

usage: gloo_allreduce.py RANK SIZE FILE BYTES SECONDS INFLIGHT
One tensor uses the blocking call; several use async_op=True and are waited for in order.
"""

import collections
import json
import sys
import time

import torch
import torch.distributed as dist

AT_LEAST = 16
TRIAL = 8


def exchange(tensors, rounds):
    """Runs all_reduce with len(tensors) in flight; returns the seconds of each, call to end."""
    times = []
    if len(tensors) == 1:
        for _ in range(rounds):
            began = time.monotonic()
            dist.all_reduce(tensors[0])
            times.append(time.monotonic() - began)
        return times
    in_flight = collections.deque()
    for number in range(rounds + len(tensors)):
        if number >= len(tensors):
            began, work = in_flight.popleft()
            work.wait()
            times.append(time.monotonic() - began)
        if number < rounds:
            tensor = tensors[number % len(tensors)]
            in_flight.append((time.monotonic(), dist.all_reduce(tensor, async_op=True)))
    return times


def agreed_rounds(tensors, seconds):
    """Returns how many rounds take `seconds`, as rank 0 measures it. To ask rank 0 in between would
    cost more than a small all_reduce."""
    rounds = torch.tensor([AT_LEAST])
    spent = sum(exchange(tensors[:1], TRIAL)) / TRIAL
    rounds[0] = max(AT_LEAST, int(seconds / spent))
    dist.broadcast(rounds, 0)
    return int(rounds.item())


def main():
    rank, size, where = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    bytes_, seconds, inflight = int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{where}", rank=rank, world_size=size)
    tensors = [torch.full((bytes_ // 4,), float(rank + 1)) for _ in range(inflight)]
    exchange(tensors, inflight)
    if not all(bool((tensor == size * (size + 1) / 2).all()) for tensor in tensors):
        sys.exit("wrong sum")
    for tensor in tensors:
        tensor.zero_()  # Sums of zeros stay zero.
    rounds = agreed_rounds(tensors, seconds)
    dist.barrier()
    before = time.process_time()
    start = time.monotonic()
    times = exchange(tensors, rounds)
    elapsed = time.monotonic() - start
    cpu = torch.tensor([time.process_time() - before])
    dist.all_reduce(cpu)
    if rank == 0:
        times.sort()
        gigabytes = rounds * bytes_ / 1e9
        print(json.dumps({"gb_per_s": gigabytes / elapsed,
                          "p50_us": 1e6 * times[rounds // 2],
                          "p99_us": 1e6 * times[rounds * 99 // 100],
                          "cpu_s_per_gb": cpu.item() / (gigabytes * size)}))


main()
