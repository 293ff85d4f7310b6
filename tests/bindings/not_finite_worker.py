# SPDX-License-Identifier: Apache-2.0
"""A worker whose gradients have a NaN in one step at rank 1; says what it has at the end.

    not_finite_worker.py MODE
"""

import sys

import torch
import stretto.torch as st

st.init()
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
st.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = st.DistributedOptimizer(optimizer, model.named_parameters(), mode=sys.argv[1])
for step in range(5):
    inputs = torch.full((2, 8), float(st.rank() + 1))
    if step == 2 and st.rank() == 1:
        inputs[0, 0] = float("nan")
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    optimizer.step()
if sys.argv[1] == "delayed":
    optimizer.finish()
print("parameters", [f"{each.double().sum().item():.12g}" for each in model.parameters()],
      flush=True)
