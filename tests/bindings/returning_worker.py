# SPDX-License-Identifier: Apache-2.0
"""A worker of an elastic job with a plain loop, which is stopped until the job continues without
it: with a wrapped optimizer ("loop"; "heal", with state for several batches; "layerwise", with
model=; "ring", with an exchange among workers; or in another mode than sync), with a wrapped module
and an unwrapped optimizer ("parallel"), or with a state ("state").

All train until a file exists; a parameter shows that, whose mean gradient is not 0 from then on. In
modes without common steps they train until Adam has made the number of steps in the file."""

import hashlib
import itertools
import os
import sys

import torch
import stretto.torch as st
from stretto import session

way, until = sys.argv[1:]
is_apart = way in ("eager", "bounded", "async", "eager_async")
st.init()
number = os.environ["STRETTO_RANK"]


class Model(torch.nn.Module):
    """A layer, a large one, and a parameter that signals the end."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.heavy = torch.nn.Linear(4, 400_000 if way == "heal" else 1)
        self.stops = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.zeros_(self.stops.weight)

    def forward(self, inputs, told):
        """The loss."""
        made = self.heavy(self.norm(self.layer(inputs)))
        return made.square().mean() + self.stops(torch.full((1, 1), told)).sum()


def told_to_stop(step):
    """1 if this worker must stop at the step."""
    if not os.path.exists(until):
        return 0.0
    with open(until, encoding="ascii") as file:
        return float(step >= int(file.read() or 0))


def wrapped(model):
    """The optimizer, and the object to call."""
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    if way == "parallel":
        return adam, st.DistributedDataParallel(model)
    st.broadcast_parameters(model.state_dict(), root_rank=0)
    mode = way if is_apart else "sync"
    return st.DistributedOptimizer(adam, model.named_parameters(), mode=mode,
                                   exchange="ring" if way == "ring" else None,
                                   model=model if way == "layerwise" else None), model


def one_step(model, called, optimizer, step):
    """True if all must stop."""
    told = told_to_stop(step)
    optimizer.zero_grad()
    called(torch.full((2, 8), float(step % 7)) + torch.arange(16.0).view(2, 8),
           0.0 if is_apart else told).backward()
    optimizer.step()
    if step % 20 == 0 and session.current().healing is None:
        print(f"step {step} rank {st.rank()} of {st.size()}", flush=True)
    return bool(told if is_apart else model.stops.weight.item())


def steps_of(model, optimizer):
    """The steps that Adam has made; a rejoined worker has those of the worker whose state it got,
    and the step without an update by which it rejoined."""
    state = optimizer.state.get(model.layer.weight)
    return (int(state["step"]) if state else 0) + session.current().came_late


def digest(model):
    """A digest of the common values."""
    found = hashlib.sha256()
    for name, tensor in model.named_parameters():
        found.update(name.encode() + tensor.detach().numpy().tobytes())
    return found.hexdigest()[:12]


torch.manual_seed(int(number))
trained = Model()
stepping, module = wrapped(trained)
if way == "state":
    state = st.elastic.TorchState(model=trained, optimizer=stepping, step=0)

    @st.elastic.run
    def train(kept):
        """Continues at the others' step."""
        while not one_step(trained, module, stepping, kept.step):
            kept.step += 1
            kept.commit()

    train(state)
    print(f"made {state.step} steps", flush=True)
else:
    for count in itertools.count():
        at = steps_of(trained, stepping) if is_apart else count
        if one_step(trained, module, stepping, at):
            break
    stepping.finish() if way != "parallel" else None
print(f"done at {digest(trained)}", flush=True)
