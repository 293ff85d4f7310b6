# SPDX-License-Identifier: Apache-2.0
"""A worker of an elastic job of three, of which worker 1 gets SIGTERM: in a plain loop ("loop") or
one of a wrapped module ("parallel"), in one with a state ("state"), twice ("twice"), in no step at
all ("late"), after other code has set a handler ("borrowed"), or in a loop of another thread
("thread").
"""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import torch
import stretto.torch as st
from stretto import environment, leaving

TOLD_AT, STEPS = 5, 12
number = environment.number("STRETTO_RANK", default=0)
st.init()


def tell():
    """Sends SIGTERM, like a host that is about to stop."""
    os.kill(os.getpid(), signal.SIGTERM)


def helper(waits):
    """A data loader, which ends on request."""
    print("helper", flush=True)
    waits.recv()


def deadlock(libc, locked=lambda: None):
    """Waits in native code, where no Python handler runs."""
    mutex = ctypes.create_string_buffer(64)
    libc.pthread_mutex_lock(mutex)
    locked()
    libc.pthread_mutex_lock(mutex)


def stuck_helper(says):
    """A child that is stuck in native code."""
    deadlock(ctypes.CDLL(None), lambda: says.send("locked"))


def loop(told):
    """Each step adds the mean of all gradients, which are 1 at every worker."""
    weight = torch.nn.Parameter(torch.zeros(3))
    optimizer = st.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), [("weight", weight)])
    here = []
    for step in range(STEPS):
        optimizer.zero_grad()
        (-weight).sum().backward()
        if number == 1 and step == TOLD_AT:
            told()
        optimizer.step()
        assert weight.tolist() == [step + 1.0] * 3, weight
        here.append(int(st.push_pull(torch.ones(1), "here", average=False).item()))
    assert here == [3] * TOLD_AT + [2] * (STEPS - TOLD_AT), here
    print("all steps", flush=True)


def parallel():
    """Like loop(), with a wrapped module: its step ends when the next forward begins."""
    module = torch.nn.Linear(1, 3, bias=False)
    torch.nn.init.zeros_(module.weight)
    wrapped = st.DistributedDataParallel(module)
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=1.0)
    for step in range(STEPS):
        optimizer.zero_grad()
        (-wrapped(torch.ones(1, 1))).sum().backward()
        if number == 1 and step == TOLD_AT:
            tell()
        optimizer.step()
        assert module.weight.flatten().tolist() == [step + 1.0] * 3, module.weight
        here = int(st.push_pull(torch.ones(1), "here", average=False).item())
        assert here == (3 if step <= TOLD_AT else 2), (step, here)
    print("all steps", flush=True)


def with_helper():
    """Only this process takes SIGTERM as a notice; the signal ends its children."""
    forks = multiprocessing.get_context("fork")
    if number == 1:
        leaving.watch()
        ours, theirs = multiprocessing.Pipe()
        child = forks.Process(target=helper, args=(theirs,))
        child.start()
        ours.send("end")
        child.join()
        assert child.exitcode == 0, child.exitcode
        child = forks.Process(target=stuck_helper, args=(theirs,))
        child.start()
        ours.recv()
        child.terminate()
        child.join()
        assert child.exitcode == -signal.SIGTERM, child.exitcode
    loop(tell)


def twice():
    """A second SIGTERM within a second counts as the first; a later one ends the worker at once."""

    def told():
        tell()
        tell()
        threading.Event().wait(1.1)
        tell()

    loop(told)


def late():
    """No step ends: native code holds the GIL from before the notice on, so no Python code runs."""
    leaving.PATIENCE_S = 0.2

    def told():
        with subprocess.Popen(["kill", "-TERM", str(os.getpid())]):
            deadlock(ctypes.PyDLL(None))

    loop(told)


def loader():
    """All processes of the worker get SIGTERM, its DataLoader's first, which then raises."""
    if number != 1:
        loop(tell)
        return
    batches = iter(torch.utils.data.DataLoader(range(1000), num_workers=2))
    # The handler may raise anywhere; without it, DataLoader raises where the program waits.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def told():
        everybody = [*(each.pid for each in batches._workers), os.getpid()]
        with subprocess.Popen(["kill", "-TERM", *map(str, everybody)]):
            for _ in batches:
                pass

    loop(told)


def state():
    """Each sample of an epoch is processed once: a leaving worker has reported its own."""
    samples, batch = 60, 2
    weight = torch.nn.Parameter(torch.zeros(samples, dtype=torch.float64))
    sampler = st.elastic.ElasticSampler(range(samples))
    optimizer = st.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0),
                                        [("weight", weight)], sampler=sampler)
    loader = torch.utils.data.DataLoader(torch.arange(samples),
                                         batch_sampler=sampler.batches(batch))
    kept = st.elastic.TorchState(optimizer=optimizer, sampler=sampler, done=[], epoch=0)
    seen = []

    @st.elastic.run
    def train(kept):
        while kept.epoch < 1:
            for index, chosen in enumerate(loader):
                optimizer.zero_grad()
                weight[chosen].sum().backward()
                if number == 1 and len(seen) == TOLD_AT * batch:
                    tell()
                optimizer.step()
                seen.extend(chosen.tolist())
                print("seen", *chosen.tolist(), flush=True)
                sampler.record_batch(index, batch)
                kept.commit()
            kept.epoch += 1
        print("all steps", flush=True)

    train(kept)


def borrowed():
    """A library has set a handler of SIGTERM, and restored the handler that Python knew."""
    leaving.watch()
    signal.signal(signal.SIGTERM, signal.signal(signal.SIGTERM, lambda *_: None))
    loop(tell)


def thread():
    """The program trains in another thread than the main thread, which gets the signal at once."""

    def told():
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    trains = threading.Thread(target=loop, args=(told,))
    trains.start()
    trains.join()
    print("main thread goes on", flush=True)


{"loop": with_helper, "borrowed": borrowed, "thread": thread, "loader": loader,
 "parallel": parallel, "state": state, "twice": twice, "late": late}[sys.argv[1]]()
