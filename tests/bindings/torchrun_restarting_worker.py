# SPDX-License-Identifier: Apache-2.0
"""A rank of torchrun. In the first attempt one rank ends after the rendezvous, and the other ranks
run until their agents end them. Arguments: init or backend, the rank that ends, and a file.
"""

import functools
import os
import pathlib
import signal
import sys

import torch
import torch.distributed as dist

import stretto.torch as st

way, leaver, marker = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
is_first = not marker.exists()
total = torch.tensor([rank + 1.0])
if way == "init":
    st.init()
else:
    from stretto.torch.distributed import libuv
    if libuv.is_missing():  # Debian's PyTorch 2 has no group under its torchrun otherwise.
        dist.rendezvous.__globals__["TCPStore"] = functools.partial(dist.TCPStore, use_libuv=False)
    dist.init_process_group("stretto")
if is_first:
    if rank == leaver:
        marker.touch()
        os._exit(3)
    while True:
        signal.pause()
if way == "init":
    total = st.push_pull(total, "x", average=False)
    st.shutdown()
else:
    dist.all_reduce(total)
    dist.destroy_process_group()
sys.stdout.write(f"rank {rank} sum {total.item()}\n")
