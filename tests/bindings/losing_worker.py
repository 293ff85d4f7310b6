# SPDX-License-Identifier: Apache-2.0
"""A worker of an elastic job: trains, by an unchanged loop, until all have been told to stop (the
file of the first argument exists), with the exchange of the second argument. It checks that every
step is by the mean of the members.

Worker n has the gradient n + 1, so that the mean identifies them."""

import itertools
import os
import sys

import torch
import stretto.torch as st

st.init()
first = st.rank()
means = {sum(some) / len(some)
         for count in (1, 2, 3) for some in itertools.combinations((1, 2, 3), count)}
# In several parts, whose rounds may have different contributors.
weight = torch.nn.Parameter(torch.zeros(200_000, dtype=torch.float64))
st.broadcast_parameters({"weight": weight.data}, root_rank=0)
optimizer = st.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0),
                                    named_parameters=[("weight", weight)], exchange=sys.argv[2])
for step in itertools.count(1):
    before = weight.detach().clone()
    optimizer.zero_grad()
    (weight * float(first + 1)).sum().backward()
    optimizer.step()
    found = set((before - weight.detach()).unique().tolist())
    assert found <= means, f"step {step}: {found}"
    stops = torch.tensor([float(os.path.exists(sys.argv[1]))])
    st.push_pull_(stops, "stops", average=False)
    if stops.item() > 0:
        break
    if step % 5 == 0:
        print(f"step {step} by {sorted(found)} rank {st.rank()} of {st.size()}", flush=True)
print(f"done at {weight.sum().item()}", flush=True)
