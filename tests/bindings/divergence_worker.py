# SPDX-License-Identifier: Apache-2.0
"""A worker of three flips a bit of a parameter: an error names it, or the job refills it."""

import torch
import stretto.torch as st
from stretto import errors

STEPS, EVERY, FLIPPED = 12, 4, 5
st.init()


def train(flips, steps=STEPS, **options):
    """Trains by SGD with momentum; the worker `flips` flips a bit after one of the steps."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Linear(5, 2))
    optimizer = st.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), model.named_parameters(),
        digest_every=EVERY, **options)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        model(torch.full((1, 6), st.rank() + 1.0)).sum().backward()
        optimizer.step()
        if step == FLIPPED and st.rank() == flips:
            with torch.no_grad():
                model[1].bias.view(torch.int32)[1] ^= 1 << 3
    return model, step


def refuses():
    """Options and parameters that cannot be watched."""
    model = torch.nn.Linear(1, 1)
    for options in ({"digest_every": -1}, {"on_divergence": "ignore"},
                    {"digest_every": 3, "mode": "eager"}, {"digest_every": 3, "model": model}):
        try:
            st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                    model.named_parameters(), **options)
        except ValueError:
            continue
        raise AssertionError(options)


refuses()
train(flips=None)
try:
    train(flips=1)
except errors.Diverged as error:
    assert "after step 8 worker 1 has other parameters than worker 0" in str(error), error
    assert str(error).endswith("'1.bias' (peer: worker 1)"), error
else:
    raise AssertionError("nobody noticed")
train(flips=0, steps=FLIPPED)  # No check follows the flip.
model, _ = train(flips=0, on_divergence="refill")
weights = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
everybody = st.allgather(weights.view(1, -1))
assert all(row.equal(everybody[0]) for row in everybody), everybody
print("done", flush=True)
