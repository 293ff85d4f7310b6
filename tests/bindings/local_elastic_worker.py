# SPDX-License-Identifier: Apache-2.0
"""A worker of an elastic job of three that trains by local steps. One is lost amid a round, or told
to go; who is started in its place has what the others have. All compare digests of the outer values
after each round."""

import hashlib
import os
import signal
import sys

import torch
import stretto.torch as st
from stretto import environment

EVERY, AFTER, MORE = 6, 4, 4
WAYS = {
    "mean": {},
    "nesterov": {"outer": "nesterov"},
    "overlap": {"outer": "nesterov", "overlap": True},
    "fragments": {"outer": "nesterov", "overlap": True, "fragments": 3},
    "weights": {"weight": 5.0},
    "int8": {"outer": "nesterov", "overlap": True,
             "compression_params": {"compressor": "int8", "ef": "vanilla"}},
}
way, loses, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
number = environment.number("STRETTO_RANK", default=0)
st.init()


def net():
    """Other parameters at each."""
    torch.manual_seed(number)
    return torch.nn.Sequential(torch.nn.Linear(8, 4096), torch.nn.Tanh(),
                               torch.nn.Linear(4096, 1))


def digest(values):
    """48 bits."""
    found = hashlib.sha256()
    for value in values:
        found.update(value.detach().contiguous().numpy().tobytes())
    return int.from_bytes(found.digest()[:6], "big")


def after_round(optimizer, is_over):
    """All have the same values. How many they are, and whether all are to stop."""
    mine = digest(optimizer.outer_values().values())
    rows = st.allgather(torch.tensor([[mine, int(is_over)]]), name="digests")
    assert len(set(rows[:, 0].tolist())) == 1, rows
    return len(rows), bool(rows[:, 1].any())


def train():
    """Until all have trained together for a while since one was lost."""
    model = net()
    optimizer = st.LocalSteps(torch.optim.AdamW(model.parameters(), lr=0.002),
                              model.named_parameters(), every=EVERY, **WAYS[way])
    full_again, steps, rounds, fewer = 0, 0, 0, False
    while True:
        inputs = torch.randn(16, 8)
        loss = (model(inputs) - inputs.sum(1, keepdim=True).div(3).tanh()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if number == loses and optimizer.outer_round == AFTER and steps % EVERY == 2:
            os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGTERM)
        if optimizer.outer_round == rounds:
            continue
        came_in = optimizer.outer_round > rounds + 1
        rounds = optimizer.outer_round
        if number == loses and rounds == AFTER or came_in:
            print(f"in at round {rounds}", flush=True)
        present, is_over = after_round(optimizer, full_again >= MORE)
        fewer = fewer or present < 3
        full_again = full_again + 1 if fewer and present == (3 if how == "kill" else 2) else 0
        if is_over:
            break
    optimizer.finish()
    inputs = torch.randn(4096, 8, generator=torch.Generator().manual_seed(5))
    loss = (model(inputs) - inputs.sum(1, keepdim=True).div(3).tanh()).square().mean()
    print(f"end {digest(model.parameters())} {optimizer.outer_round} {loss.item():.4f}", flush=True)


train()
