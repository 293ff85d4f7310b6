# SPDX-License-Identifier: Apache-2.0
"""A worker that makes checkpoints in several ways, some of them wrong, and prints the outcome.

    checkpoints_misuse_worker.py WAY
"""

import os
import shutil
import sys
import warnings

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
import stretto.torch as st
import stretto.torch.distributed

way = sys.argv[1]
st.init()
torch.manual_seed(1)


def model_of(width=4):
    """A model with statistics, and a frozen layer."""
    model = torch.nn.Sequential(torch.nn.Linear(3, width), torch.nn.BatchNorm1d(width),
                                torch.nn.Linear(width, 1))
    model[2].weight.requires_grad_(False)
    return model


def wrapped(model, kind=torch.optim.Adam, groups=1, prefix=""):
    """An optimizer."""
    trained = [each for each in model.parameters() if each.requires_grad]
    sets = [trained] if groups == 1 else [trained[:1], trained[1:]]
    inner = kind([{"params": each} for each in sets], lr=0.01)
    return st.DistributedOptimizer(inner, [(prefix + name, parameter)
                                           for name, parameter in model.named_parameters()])


def train(*pairs, steps=3):
    """Some steps."""
    for _ in range(steps):
        for model, optimizer in pairs:
            optimizer.zero_grad()
            model(torch.randn(8, 3)).square().mean().backward()
            optimizer.step()


def sums(*models):
    """Sums that show whether models are equal, without the ranks' own statistics."""
    return " ".join(f"{tensor.double().sum().item():.9f}" for model in models
                    for name, tensor in model.state_dict().items()
                    if st.rank() == 0 or "running" not in name)


def mebibytes(name):
    """A size of this process's memory."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) // 1024


def tried(call):
    """The text of the call's error or result."""
    try:
        return f"returned {call()}"
    except (st.Error, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


if way in ("gan", "gan_again"):
    # Two models of one class; the second is not broadcast, but its statistics count, too.
    first, second = model_of(), model_of()
    st.broadcast_parameters(first.state_dict(), root_rank=0)
    pairs = [(each, wrapped(each)) for each in (first, second)]
    if way == "gan_again":
        print("from", st.restore(), flush=True)
        print("again", tried(st.restore), flush=True)
    else:
        train(*pairs)
        print(tried(lambda: st.checkpoint(3)), flush=True)
    print("sums", sums(first, second), flush=True)
elif way in ("named", "named_swapped"):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = [wrapped(model_of(), prefix=prefix)
                for prefix in (("a.", "b.") if way == "named" else ("b.", "a."))]
        print(tried(lambda: st.checkpoint(3) if way == "named" else st.restore()), flush=True)
elif way in ("state", "state_again"):
    model = model_of()
    optimizer = wrapped(model)
    state = st.elastic.TorchState(model=model, optimizer=optimizer, batch=0)
    if way == "state_again":
        print("from", st.restore(), flush=True)
        state.sync()
    else:
        state.sync()
        train((model, optimizer))
        state.batch = 17
        print(tried(lambda: st.checkpoint(3)), flush=True)
    print("sums", sums(model), state.batch, flush=True)
elif way == "first":
    model = model_of()
    optimizer = wrapped(model)
    print(tried(lambda: st.checkpoint(0)), flush=True)
elif way == "kind":
    model = model_of()
    optimizer = wrapped(model, torch.optim.SGD)
    print(tried(st.restore), flush=True)
elif way == "groups":
    model = model_of()
    optimizer = wrapped(model, groups=2)
    print(tried(st.restore), flush=True)
elif way == "width":
    model = model_of(5)
    optimizer = wrapped(model)
    print(tried(st.restore), flush=True)
elif way == "nothing":
    print(tried(lambda: st.checkpoint(0)), flush=True)
elif way == "names":
    class Odd:
        """An object to attach."""
        def state_dict(self):
            """Returns an unsupported type."""
            return {"it": self}

        def load_state_dict(self, state):
            """Nothing."""
    print(tried(lambda: st.attach("x", 5)), flush=True)
    print(tried(lambda: st.attach("", Odd())), flush=True)
    print(tried(lambda: st.attach("x", Odd)), flush=True)
    st.attach("x", Odd())
    print(tried(lambda: st.attach("x", Odd())), flush=True)
    print(tried(lambda: st.checkpoint(-1)), flush=True)
    model = model_of()
    optimizer = wrapped(model)
    print(tried(st.restore), flush=True)
elif way in ("zero", "twins", "groups_of_one"):
    dist.init_process_group("stretto")
    own = dist.new_group([0]), dist.new_group([1])
    DDP = torch.nn.parallel.DistributedDataParallel
    if way == "groups_of_one":
        kept = [DDP(model_of(), process_group=own[st.rank()])]
    else:
        kept = [DDP(model_of()) for _ in range(2 if way == "twins" else 1)]
    if way == "zero":
        optimizer = ZeroRedundancyOptimizer(kept[0].parameters(), torch.optim.Adam, lr=0.1)
    print(tried(lambda: st.checkpoint(1)), flush=True)
elif way in ("memory", "memory_again"):
    model = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048, bias=False) for _ in range(4)))
    st.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = st.DistributedOptimizer(torch.optim.Adam(model.parameters(), lr=0.01),
                                        model.named_parameters())
    if way == "memory":
        model(torch.ones(1, 2048)).sum().backward()
        optimizer.step()
        print(tried(lambda: st.checkpoint(1)), flush=True)
    else:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as refs:
            refs.write("5")  # Resets the peak.
        before = mebibytes("VmRSS")
        st.restore()
        print("more", mebibytes("VmHWM") - before, flush=True)
    print("sums", sums(model), flush=True)
elif way == "due":
    model = model_of()
    optimizer = wrapped(model)
    made = []
    step = 0
    while len(made) < 3:
        step += 1
        train((model, optimizer), steps=1)
        if st.checkpoint_if_due(step):
            made.append(step)
    print("made", made, flush=True)
elif way == "newcomer":
    model = model_of()
    st.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = wrapped(model)
    print("begins at", st.restore(), flush=True)
    while not os.path.exists(sys.argv[2]):
        train((model, optimizer), steps=1)
    os._exit(0)  # Peers may not have seen the file yet.
elif way == "full":
    model = model_of()
    optimizer = wrapped(model)
    st.barrier()
    if st.rank() == 0:
        shutil.rmtree(os.environ["STRETTO_CHECKPOINT"])
    st.barrier()
    for number in range(1, 5):
        train((model, optimizer), steps=1)
        print(number, tried(lambda: st.checkpoint(number)), flush=True)
print("done", flush=True)
