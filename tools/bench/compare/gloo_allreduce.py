# SPDX-License-Identifier: Apache-2.0
"""torch.distributed's all_reduce over gloo, again and again for some seconds: one of several ranks.
Rank 0 prints one line of JSON. Started by tools/bench/compare/run."""

import json
import sys
import time

import torch
import torch.distributed as dist


def main():
    rank, size, where, bytes_, seconds = (int(sys.argv[1]), int(sys.argv[2]), sys.argv[3],
                                          int(sys.argv[4]), float(sys.argv[5]))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{where}", rank=rank, world_size=size)
    tensor = torch.full((bytes_ // 4,), float(rank + 1))
    dist.all_reduce(tensor)
    if not bool((tensor == size * (size + 1) / 2).all()):
        sys.exit("wrong sum")
    tensor.zero_()  # What is added stays what it is.
    for _ in range(2):
        dist.all_reduce(tensor)
    go = torch.ones(1)
    dist.barrier()
    before = time.process_time()
    start = time.monotonic()
    times = []
    while go.item():
        for _ in range(8):
            began = time.monotonic()
            dist.all_reduce(tensor)
            times.append(time.monotonic() - began)
        go[0] = time.monotonic() - start < seconds
        dist.broadcast(go, 0)  # Rank 0 says when it is enough.
    elapsed = time.monotonic() - start
    cpu = torch.tensor([time.process_time() - before])
    dist.all_reduce(cpu)
    if rank == 0:
        times.sort()
        gigabytes = len(times) * bytes_ / 1e9
        print(json.dumps({"gb_per_s": gigabytes / elapsed,
                          "p50_us": 1e6 * times[len(times) // 2],
                          "p99_us": 1e6 * times[len(times) * 99 // 100],
                          "cpu_s_per_gb": cpu.item() / (gigabytes * size)}))


main()
