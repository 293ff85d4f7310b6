# SPDX-License-Identifier: Apache-2.0
"""A worker of an elastic job of three that trains by local steps. One is killed within a round, and
its replacement gets the others' state. Then, if configured, another one gets a notice, also within
a round. All compare digests of the outer values after each round. While PyTorch starts in the
joining worker the others wait, at pipes, to leave it the processors.
"""

import hashlib
import os
import pathlib
import signal
import sys

import torch
import stretto.torch as st
from stretto import environment

EVERY, AFTER, MORE = 6, 4, 10
NESTEROV = {"outer": "nesterov", "momentum": 0.5}  # 0.9 is too much for such short rounds.
WAYS = {
    "nesterov": {**NESTEROV, "weight": 5.0},
    "overlap": {"overlap": True, "weight": 5.0},
    "fragments": {**NESTEROV, "overlap": True, "fragments": 3,
                  "compression_params": {"compressor": "int8", "ef": "vanilla"}},
}
way, killed, goes, pipes = sys.argv[1], 1, int(sys.argv[2]), pathlib.Path(sys.argv[3])
left = 3 if goes < 0 else 2
number = environment.number("STRETTO_RANK", default=0)
if number == 3:
    for seat in (0, 2):
        (pipes / f"{seat}").open("wb").close()  # Waits for its reader.
st.init()


def net():
    """Different parameters at each worker."""
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
    """Checks that all values are equal. Returns the number of workers, and whether all must
    stop."""
    mine = digest(optimizer.outer_values().values())
    rows = st.allgather(torch.tensor([[mine, int(is_over)]]), name="digests")
    assert len(set(rows[:, 0].tolist())) == 1, rows
    return len(rows), bool(rows[:, 1].any())


def train():
    """Trains until all remaining workers have trained together for a while."""
    model = net()
    optimizer = st.LocalSteps(torch.optim.AdamW(model.parameters(), lr=0.001),
                              model.named_parameters(), every=EVERY, **WAYS[way])
    steps, rounds, seen, together = 0, 0, [3], 0
    while True:
        inputs = torch.randn(16, 8)
        loss = (model(inputs) - inputs.sum(1, keepdim=True).div(3).tanh()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if number == killed and optimizer.outer_round == AFTER and steps % EVERY == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == goes and seen == [3, 2, 3] and steps % EVERY == 2:
            os.kill(os.getpid(), signal.SIGTERM)  # A second notice would end it at once.
            seen.append(2)
        if optimizer.outer_round == rounds:
            continue
        came_in = optimizer.outer_round > rounds + 1
        rounds = optimizer.outer_round
        if came_in:
            print(f"in at round {rounds}", flush=True)
            seen = [3, 2]
        present, is_over = after_round(optimizer, together >= MORE)
        if present != seen[-1]:
            seen.append(present)
            if seen == [3, 2] and not came_in:
                (pipes / f"{number}").open("rb").close()
        is_last = seen == ([3, 2, 3] if goes < 0 else [3, 2, 3, 2])
        together = together + 1 if is_last else 0
        if is_over:
            break
    optimizer.finish()
    inputs = torch.randn(4096, 8, generator=torch.Generator().manual_seed(5))
    loss = (model(inputs) - inputs.sum(1, keepdim=True).div(3).tanh()).square().mean()
    assert present == left, present
    print(f"end {digest(model.parameters())} {optimizer.outer_round} {loss.item():.4f}", flush=True)


train()
