# SPDX-License-Identifier: Apache-2.0
"""A worker of an elastic job of three, of which one is lost and replaced: with an unchanged loop
("loop"; "heal", with background state transfer; "clip", which also clips means; "parallel", with a
wrapped module and an unwrapped optimizer; or in another mode than sync), or with a state ("state",
"parallel_state")."""

import hashlib
import os
import pathlib
import signal
import sys

import torch
import stretto.torch as st
from stretto import environment
from stretto.torch.elastic import healing, newcomers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch"))

import datasets  # pylint: disable=wrong-import-position

AFTER, MORE = 20, 60
batches, unused = [], []
loses = int(sys.argv[2])
number = environment.number("STRETTO_RANK", default=0)
st.init()


def die():
    """Simulates a crash."""
    os.kill(os.getpid(), signal.SIGKILL)


def digest(model):
    """A digest of all parameters."""
    found = hashlib.sha256()
    for _, tensor in model.named_parameters():
        found.update(tensor.detach().numpy().tobytes())
    return found.hexdigest()[:12]


def die_in_meeting(which):
    """Dies in the `which`-th transfer to joining workers."""
    exchange, calls = newcomers._exchange, []

    def dying(*arguments):
        calls.append(arguments)
        found = exchange(*arguments)
        if len(calls) == which:
            die()
        return found

    newcomers._exchange = dying


def heal_in_batches(dies_at):
    """Uses batches for any size. This worker dies when batch `dies_at` has been sent."""
    healing.LEAST_BYTES, healing._LEAST_BATCH, healing._MOST_BATCH = 0, 1000, 4000
    begin = healing.stripes.Stripes

    def counted(now, label, *arguments):
        found = begin(now, label, *arguments)
        if label == "Healing":
            batches.append(len(arguments))
            if len(batches) == dies_at:
                die()
        return found

    healing.stripes.Stripes = counted
    uses = healing.Healing.uses

    def noted(*arguments):
        if not uses(*arguments):
            unused.append(arguments)
            return False
        return True

    healing.Healing.uses = noted


def net(more_layers, width=32):
    """A model for digits."""
    torch.manual_seed(number)
    layers = [torch.nn.Flatten(), torch.nn.Linear(64, width), torch.nn.ReLU()]
    for _ in range(more_layers):
        layers += [torch.nn.Linear(width, width), torch.nn.BatchNorm1d(width), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 10))


def loop():
    """A loop without loss handling, with three losses."""
    if number == 3:  # The first replacement is lost while it joins,
        die_in_meeting(1)
    if number == 1:  # and a giver while the next one joins.
        die_in_meeting(2)
    train_digits(lambda parameters: torch.optim.SGD(parameters, lr=0.5, momentum=0.5), 0.2)


def heal(clips=False):
    """As loop(), with state transfer in the background."""
    heal_in_batches({3: 2, 1: 5}.get(number))

    def look():
        if number > 3:
            assert len(batches) > 3, batches
            assert bool(unused) != clips, len(unused)

    # Each layer's gradient travels alone: a worker that lacks a layer does not need its gradient.
    train_digits(lambda parameters: torch.optim.Adam(parameters, lr=0.01), 0.005, more_layers=3,
                 width=72, clips=clips, look=look)


def parallel():
    """As loop(), with a wrapped module that has buffers."""
    if number == 3:
        die_in_meeting(1)
    if number == 1:
        die_in_meeting(2)

    def wrapped(model):
        module = st.DistributedDataParallel(model)
        return module, torch.optim.Adam(module.parameters(), lr=0.01)

    train_digits_by(wrapped, net(more_layers=1), 0.005)


def apart(mode):
    """Exchanges updates; the servers have the values. A joiner continues with another's moments."""
    kept = []

    def wrapped(model):
        st.broadcast_parameters(model.state_dict(), root_rank=0)
        kept.append(st.DistributedOptimizer(torch.optim.Adam(model.parameters(), lr=0.01),
                                            model.named_parameters(), mode=mode))
        return model, kept[0]

    def look():
        kept[0].finish()
        steps = [state["step"].item() for state in kept[0].state.values()]
        assert len(set(steps)) == 1 and steps[0] > AFTER + MORE, steps

    train_digits_by(wrapped, net(more_layers=0), 0.005, look=look)


def train_digits(optimizer_of, later_rate, more_layers=0, width=32, **options):
    """Trains with a wrapped optimizer."""

    def wrapped(model):
        optimizer = optimizer_of(model.parameters())
        st.broadcast_parameters(model.state_dict(), root_rank=0)
        st.broadcast_optimizer_state(optimizer, root_rank=0)
        return model, st.DistributedOptimizer(optimizer, model.named_parameters(), digest_every=10)

    train_digits_by(wrapped, net(more_layers, width), later_rate, **options)


def train_digits_by(wrap, model, later_rate, clips=False, look=lambda: None):
    """Until all have trained together for a while after the last loss. Then calls `look`."""
    (images, labels), (test_images, test_labels) = datasets.digits()
    model, optimizer = wrap(model)
    step = full_again = 0
    stops = torch.zeros(1)
    while not stops.item():
        step += 1
        if step == 5:
            optimizer.param_groups[0]["lr"] = later_rate
        chosen = torch.randint(len(images), (16,))
        loss = torch.nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
        dies = number == loses and step == AFTER
        if dies and isinstance(model, st.DistributedDataParallel):
            next(model.parameters()).register_hook(lambda _: die())  # Within backward.
        optimizer.zero_grad()
        loss.backward()
        if dies:
            die()
        if clips:
            optimizer.synchronize()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            with optimizer.skip_synchronize():
                optimizer.step()
        else:
            optimizer.step()
        full_again = full_again + 1 if step > AFTER and st.size() == 3 else 0
        stopping = number == 2 and full_again >= MORE
        stops = st.push_pull(torch.tensor([float(stopping)]), "stops", average=False)
    look()
    accuracy = (model(test_images).argmax(1) == test_labels).double().mean().item()
    print(f"end {digest(model)} {optimizer.param_groups[0]['lr']} {accuracy:.3f}", flush=True)


def parallel_state():
    """With an unwrapped optimizer in the state; workers join at a commit."""
    module = st.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(module.parameters(), lr=0.1)
    kept = st.elastic.TorchState(model=module, optimizer=optimizer, steps=0, full_again=0)

    @st.elastic.run
    def train(kept):
        while kept.full_again < MORE:
            optimizer.zero_grad()
            module(torch.full((1, 4), number + 1.0)).square().sum().backward()
            if number == loses and kept.steps == AFTER:
                die()
            optimizer.step()
            kept.steps += 1
            kept.full_again += kept.steps > AFTER and st.size() == 3
            kept.commit()

    train(kept)
    print(f"end {digest(module)} {kept.steps - kept.full_again}", flush=True)


def state():
    """With an epoch's samples, nine per step, whatever the members: each adds 1, or more in a
    smaller last step, to its own element."""
    samples, batch, epochs = 211, 3, 3
    weight = torch.nn.Parameter(torch.zeros(samples, dtype=torch.float64))
    sampler = st.elastic.ElasticSampler(range(samples))
    optimizer = st.DistributedOptimizer(torch.optim.SGD([weight], lr=3.0 * batch),
                                        [("weight", weight)], sampler=sampler)
    loader = torch.utils.data.DataLoader(torch.arange(samples),
                                         batch_sampler=sampler.batches(batch))
    kept = st.elastic.TorchState(optimizer=optimizer, sampler=sampler, weight=weight.data, epoch=0,
                                 steps=0, sizes=[])
    kept.register_reset_callbacks([lambda: kept.sizes.append(st.size())])

    @st.elastic.run
    def train(kept):
        with torch.no_grad():
            weight.copy_(kept.weight)
        while kept.epoch < epochs:
            for index, chosen in enumerate(loader):
                optimizer.zero_grad()
                (-weight[chosen]).mean().backward()
                if number == loses and kept.steps == AFTER:
                    die()
                optimizer.step()
                sampler.record_batch(index, batch)
                kept.steps += 1
                kept.weight = weight.data
                kept.commit()
            if kept.epoch < epochs - 1 or kept.sizes[-1:] == [3]:
                kept.epoch += 1  # The last epoch waits for the lost worker's replacement.
            sampler.set_epoch(kept.epoch)

    train(kept)
    assert weight.min() >= epochs - 1e-6, f"some samples were left out: {weight.tolist()}"
    assert abs(weight.sum().item() - 3.0 * batch * kept.steps) < 1e-6, (weight.sum(), kept.steps)
    print(f"end {weight.sum().item():.1f} {kept.steps} {kept.sizes}", flush=True)


WAYS = {"loop": loop, "heal": heal, "clip": lambda: heal(clips=True), "parallel": parallel,
        "state": state, "parallel_state": parallel_state}
WAYS.get(sys.argv[1], lambda: apart(sys.argv[1]))()
