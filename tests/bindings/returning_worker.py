# SPDX-License-Identifier: Apache-2.0
"""A worker of an elastic job whose loop knows nothing of losses, and which is stopped for so long
that the job goes on without it: by a wrapped optimizer ("loop"; "heal", with more than comes at
once; "layerwise", with model=; "ring", its gradients going among workers; or in another mode than
sync), by a wrapped module and an optimizer that is not ("parallel"), or with a state ("state").

All train until a file is there; that is known by a parameter of its own, whose mean gradient is
not 0 any more then. Where workers are not in step they train until Adam has made as many steps as
the file names."""

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
    """A layer, one that only weighs much, and what tells whether to stop."""

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
    """1 if this worker has been told so, for the step."""
    if not os.path.exists(until):
        return 0.0
    with open(until, encoding="ascii") as file:
        return float(step >= int(file.read() or 0))


def wrapped(model):
    """The optimizer, and what is called."""
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    if way == "parallel":
        return adam, st.DistributedDataParallel(model)
    st.broadcast_parameters(model.state_dict(), root_rank=0)
    mode = way if is_apart else "sync"
    return st.DistributedOptimizer(adam, model.named_parameters(), mode=mode,
                                   exchange="ring" if way == "ring" else None,
                                   model=model if way == "layerwise" else None), model


def one_step(model, called, optimizer, step):
    """True if all have been told to stop."""
    told = told_to_stop(step)
    optimizer.zero_grad()
    called(torch.full((2, 8), float(step % 7)) + torch.arange(16.0).view(2, 8),
           0.0 if is_apart else told).backward()
    optimizer.step()
    if step % 20 == 0 and session.current().healing is None:
        print(f"step {step} rank {st.rank()} of {st.size()}", flush=True)
    return bool(told if is_apart else model.stops.weight.item())


def steps_of(model, optimizer):
    """That Adam has made; of who has come again, those of the worker whose state it got, and the
    one without an update by which it came."""
    state = optimizer.state.get(model.layer.weight)
    return (int(state["step"]) if state else 0) + session.current().came_late


def digest(model):
    """Of what all have alike."""
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
        """Goes on where the others are."""
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
