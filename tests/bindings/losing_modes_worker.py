# SPDX-License-Identifier: Apache-2.0
"""A worker of an elastic job that loses a worker in each of several modes: the others continue, and
have equal values in the end.

The worker in seat s has the gradient s + 1, so that the sum shows how many steps each worker
made."""

import os
import signal

import torch
import stretto.torch as st
from stretto import session
from stretto.torch.optim import stale

STEPS, LAST = 12, 5
st.init()
seat = session.current().seat


def die():
    """Simulates a crash."""
    os.kill(os.getpid(), signal.SIGKILL)


def steps(who, optimizer, compute):
    """Trains; the worker in seat `who` dies between computing and stepping."""
    for step in range(STEPS):
        optimizer.zero_grad()
        compute()
        if seat == who and step == LAST:
            die()
        optimizer.step()
    optimizer.finish()


def by_updates(who, here, mode):
    """In a mode in which updates add up: all updates of the remaining workers are included, and
    those that the lost worker has started."""
    weight = torch.nn.Parameter(torch.zeros(100_000))
    optimizer = st.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), [("weight", weight)],
                                        mode=mode, lr_rule="constant")
    steps(who, optimizer, lambda: (-weight * (seat + 1.0)).sum().backward())
    survivors = STEPS * sum(one + 1 for one in here if one != who)
    lost = (weight.detach() - survivors) / (who + 1)
    assert lost.equal(lost.round()) and 0 <= lost.min() and lost.max() <= LAST, (
        mode, lost.unique())
    return weight


def opening(who, here):
    """Rank 0 is lost before the others have its values."""
    del here
    if seat == who:
        stale._core.Parameters = lambda *_, **__: die()
    weight = torch.nn.Parameter(torch.full((3_000_000,), seat + 1.0))  # In parts at both servers.
    optimizer = st.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), [("weight", weight)],
                                        mode="eager")
    weight.grad = torch.zeros_like(weight)
    optimizer.step()
    assert weight.unique().tolist() == [2.0], weight.unique()
    return weight


def eager(who, here):
    """Means, with fewer contributors from some step on."""
    weight = torch.nn.Parameter(torch.zeros(100_000))
    optimizer = st.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), [("weight", weight)],
                                        mode="eager")
    steps(who, optimizer, lambda: (-weight * (seat + 1.0)).sum().backward())
    low, high = STEPS * (min(here) + 1), STEPS * (max(here) + 1)
    assert low <= weight.min() and weight.max() <= high, weight.unique()
    return weight


def sparse(who, here):
    """Each worker has its own rows, and one in common."""
    table = torch.nn.Embedding(8, 3, sparse=True)
    torch.nn.init.zeros_(table.weight)
    optimizer = st.DistributedOptimizer(torch.optim.SGD(table.parameters(), lr=1.0),
                                        table.named_parameters())
    steps(who, optimizer, lambda: (-table(torch.tensor([seat, 7]))).sum().backward())
    assert (table.weight[7] - STEPS).abs().max() < 1e-4, table.weight
    assert all(table.weight[one].min() > 0 for one in here), table.weight
    return table.weight


def layer_by_layer(who, here):
    """step() does not wait."""
    del here
    model = torch.nn.Sequential(*(torch.nn.Linear(50, 50) for _ in range(3)))
    st.broadcast_parameters(model.state_dict(), 0)
    optimizer = st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01),
                                        model.named_parameters(), model=model)
    steps(who, optimizer, lambda: model(torch.full((1, 50), seat + 1.0)).sum().backward())
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


WAYS = [("layers", 6, layer_by_layer), ("sparse", 5, sparse), ("eager", 4, eager),
        ("bounded", 3, lambda who, here: by_updates(who, here, "bounded")), ("opening", 0, opening),
        ("async", 1, lambda who, here: by_updates(who, here, "async"))]
seats = set(range(st.size()))
for label, loses, train in WAYS:
    found = train(loses, sorted(seats)).detach()
    seats.discard(loses)
    digest = hash(found.numpy().tobytes())
    print(f"{label} {digest}", flush=True)
print("done", flush=True)
