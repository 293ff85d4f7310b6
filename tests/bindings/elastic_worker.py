# SPDX-License-Identifier: Apache-2.0
"""A worker of an elastic job that continues by stretto.horovod.torch.elastic: two are lost while
they give parameters to the others, and another one within an epoch, whose samples the rest process.

Every sample adds 1 to its own element of the sum of gradients, so that the weight counts how often
each was processed."""

import os
import signal

import torch
import stretto.horovod.torch as hvd
from stretto import session
from stretto.torch.core import exchange

SAMPLES, BATCH = 203, 4
hvd.init()
seat = session.current().seat


def die():
    """Simulates a crash."""
    os.kill(os.getpid(), signal.SIGKILL)


def lose_the_root(who, after):
    """The worker of rank 0, in this seat, dies after it has given `after` tensors of two, unknown
    to the others."""
    begin_copy, attendance, calls = exchange.begin_copy, exchange.attendance, []

    def dying(function, in_call):
        def call(*arguments):
            calls.append(function)
            if calls.count(function) == in_call:
                die()
            return function(*arguments)
        return call

    lost = seat == who
    if lost and after < 2:
        exchange.begin_copy = dying(begin_copy, after + 1)
    elif lost:
        exchange.attendance = dying(attendance, 2)
    large = [torch.full((300_000,), float(seat)), torch.full((300_000,), float(seat))]
    hvd.broadcast_parameters([("a", large[0]), ("b", large[1])], 0)
    assert not lost
    found = {value.item() for tensor in large for value in tensor.unique()}
    assert found == {who + 1}, found  # Those of the new first worker.


def lose_one_within_an_epoch():
    """The worker of seat 3 dies after its computation, before the commit."""
    weight = torch.nn.Parameter(torch.zeros(SAMPLES, dtype=torch.float64))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0),
                                         named_parameters=[("weight", weight)], op=hvd.Sum)
    sampler = hvd.elastic.ElasticSampler(range(SAMPLES))
    loader = torch.utils.data.DataLoader(torch.arange(SAMPLES), batch_size=BATCH, sampler=sampler)
    state = hvd.elastic.TorchState(optimizer=optimizer, sampler=sampler, weight=weight.detach(),
                                   epoch=0, steps=0)
    sizes, resets = [], []
    state.register_reset_callbacks([lambda: resets.append(hvd.size())])

    @hvd.elastic.run
    def train(state):
        sizes.append(len(sampler))
        while state.epoch < 2:
            for index, batch in enumerate(loader):
                optimizer.zero_grad()
                (-weight[batch]).sum().backward()
                if seat == 3 and state.steps == 9:
                    die()
                optimizer.step()
                state.steps += 1
                sampler.record_batch(index, BATCH)
                if state.steps % 4 == 0:
                    state.commit()
            state.commit()
            state.epoch += 1
            sampler.set_epoch(state.epoch)

    before = 3
    train(state)
    seen = weight.detach().long()
    assert seen.double().equal(weight.detach())  # Sums are exact.
    assert seen.min() >= 2, f"some samples were left out: {seen.tolist()}"
    # Padding, and the lost worker's samples since the last commit but one, four steps before.
    assert seen.sum() - 2 * SAMPLES <= 2 * before * BATCH + 4 * BATCH, seen.sum()
    assert resets == [before - 1], resets
    print(f"state {state.steps} {seen.sum().item()} {sizes}", flush=True)


lose_the_root(who=0, after=1)
lose_the_root(who=1, after=2)
lose_one_within_an_epoch()
print("done", flush=True)
