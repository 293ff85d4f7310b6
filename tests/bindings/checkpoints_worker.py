# SPDX-License-Identifier: Apache-2.0
"""A worker that makes checkpoints, and resumes from one. It trains by a wrapped optimizer ("sync",
"delayed", "eager", "async"; "layerwise", with model=), or by a wrapped module and a plain optimizer
("parallel"; "torch": PyTorch's own module over the backend). Or it trains by local steps in rounds
of 3 ("local"), of 1 ("each"), or of 4 with momentum, fragments and overlap ("outer"). Batches are
random; a schedule, random states and statistics of batch normalisation are part of its state.

    checkpoints_worker.py WAY STEPS EVERY [lacking] [later]

lacking: it does not restore; later: it does not wait for the writes
"""

import hashlib
import sys

import torch
import torch.distributed as dist
import stretto.torch as st
import stretto.torch.distributed

LOCAL = {"local": {"every": 3}, "each": {"every": 1},
         "outer": {"every": 4, "outer": "nesterov", "fragments": 2, "overlap": True}}
way, steps, every = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.use_deterministic_algorithms(True)
if way == "torch":
    dist.init_process_group("stretto")
else:
    st.init()
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 300), torch.nn.BatchNorm1d(300), torch.nn.ReLU(),
                            torch.nn.Linear(300, 1))
model.register_buffer("seen", torch.zeros((), dtype=torch.bool))
if way in ("parallel", "torch"):
    model[3].bias.requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
if way in ("sync", "async"):
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
elif way in ("parallel", "torch"):
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [5, 8, 11])
else:
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=2000)
forward = model
if way == "parallel":
    forward = st.DistributedDataParallel(model)
elif way == "torch":
    forward = torch.nn.parallel.DistributedDataParallel(model)
elif way in LOCAL:
    st.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = st.LocalSteps(optimizer, model.named_parameters(), **LOCAL[way])
else:
    st.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = st.DistributedOptimizer(
        optimizer, model.named_parameters(), mode="sync" if way == "layerwise" else way,
        model=model if way == "layerwise" else None, stale=2 if way == "delayed" else "auto")
torch.manual_seed(100 + st.rank())
st.attach("schedule", schedule)
st.attach("random", st.RandomStates())
first = 0 if "lacking" in sys.argv else st.restore()
print(f"from {first} of {st.restored()}", flush=True)
for step in range(first, steps):
    inputs = torch.randn(16, 8)
    optimizer.zero_grad()
    (forward(inputs) - inputs.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()
    schedule.step()
    model.seen.fill_(True)
    if every and step % every == every - 1:
        made = st.checkpoint(step + 1, wait="later" not in sys.argv)
        print(f"checkpoint {step + 1} {made}", flush=True)
if way == "layerwise":
    optimizer.synchronize()
elif way not in ("parallel", "torch"):
    optimizer.finish()
# Each worker has its own statistics; the checkpoint has those of rank 0.
state = hashlib.sha256()
for name, tensor in model.state_dict().items():
    if way in ("parallel", "torch") or st.rank() == 0 or "running" not in name:
        state.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
if way in LOCAL:
    print(f"round {optimizer.outer_round}", flush=True)
print(f"end {state.hexdigest()} {schedule.get_last_lr()[0]:.6g} {bool(model.seen)}", flush=True)
print("done", flush=True)
