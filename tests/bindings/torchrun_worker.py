# SPDX-License-Identifier: Apache-2.0
"""A rank of torchrun that calls st.init(), and torch.distributed beside it."""

import os
import sys

import torch
import torch.distributed as dist

import stretto.torch as st

st.init()
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
assert (st.rank(), st.size()) == (rank, size), (st.rank(), st.size())
assert (st.local_rank(), st.local_size()) == (rank, size)
total = st.push_pull(torch.tensor([rank + 1.0]), "x", average=False)
lines = [f"rank {rank} sum {total.item()}"]
if sys.argv[1:] == ["both"]:
    dist.init_process_group("gloo")
    other = torch.tensor([rank + 1.0])
    dist.all_reduce(other)
    lines.append(f"rank {rank} gloo {other.item()}")
    dist.destroy_process_group()
st.shutdown()
sys.stdout.write("".join(line + "\n" for line in lines))
