# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of failures_test.py: fails as its first argument says."""

import atexit
import multiprocessing
import os
import signal
import sys
import threading

import torch

import byteps.torch as bps
import stretto.horovod.torch as hvd
import stretto.torch as st
from stretto import errors


def endless():
    """Trains until it is killed."""
    model = torch.nn.Linear(100, 100)
    bps.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = bps.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01),
                                         model.named_parameters())
    step = 0
    while True:
        optimizer.zero_grad()
        model(torch.ones(4, 100)).square().mean().backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print("progress", step, flush=True)


def sits_out():
    """Worker 1 runs out of data and pauses until worker 0, which trains on, has none either."""
    if bps.rank() == 1:
        hvd.join()
    while True:
        hvd.allreduce(torch.ones(100), name="step")
        print("progress", flush=True)


def raises():
    """Worker 1 has a bug, with an exchange in flight that no other worker will join."""
    bps.push_pull(torch.ones(1), name="together")
    if bps.rank() == 1:
        bps.byteps_push_pull(torch.ones(10), name="nobody else")
        raise KeyError("a bug of the user's")
    bps.push_pull(torch.ones(10), name="without worker 1")


def exits():
    """Worker 1 exits, with an exchange in flight that no other worker will join."""
    bps.push_pull(torch.ones(1), name="together")
    if bps.rank() == 1:
        bps.byteps_push_pull(torch.ones(10), name="nobody else")
        print("exits", flush=True)
        sys.exit(7)
    bps.push_pull(torch.ones(10), name="without worker 1")


def raises_eagerly():
    """Worker 1 has a bug while the updates of its last step are in flight, for which worker 0 makes
    no step, because it waits for worker 1 elsewhere."""
    model = torch.nn.Linear(100, 100)
    optimizer = st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01),
                                        model.named_parameters(), mode="eager")
    for step in range(6):
        model(torch.ones(4, 100)).square().mean().backward()
        if step == 5 and bps.rank() == 0:
            bps.push_pull(torch.ones(10), name="without worker 1")
        optimizer.step()
    raise KeyError("a bug of the user's")


def differs():
    """The workers do not agree on a size."""
    try:
        bps.push_pull(torch.ones(10 + bps.rank()), name="x")
    except errors.Mismatch as error:
        print("mismatch:", error, flush=True)
        bps.barrier()  # The first to leave would cause the other's error.
        sys.exit(3)


def ends_early():
    """Worker 1 leaves the loop a step before worker 0, and starts another exchange."""
    try:
        for _ in range(3 - bps.rank()):
            bps.push_pull(torch.ones(10), name="step")
        bps.push_pull(torch.ones(1), name="metric")
    except errors.Timeout as error:
        print("timeout:", error, flush=True)
        bps.barrier()  # The first to leave would cause the other's error.


def names_twice():
    """A name is used again for a tensor of another size."""
    bps.push_pull(torch.ones(10), name="x")
    try:
        bps.push_pull(torch.ones(11), name="x")
    except errors.Mismatch as error:
        print("mismatch:", error, flush=True)
        bps.barrier()


def codes_alone():
    """Worker 1 was configured to encode the smallest gradients, which then travel alone there."""
    model = torch.nn.Linear(10, 10)
    optimizer = st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01),
                                        model.named_parameters())
    model(torch.ones(4, 10)).square().mean().backward()
    optimizer.step()


def _child(results):
    try:
        bps.push_pull(torch.ones(1), name="child")
    except errors.UsedAfterFork as error:
        results.put(str(error))


def forks():
    """Children of a worker may not use it, and do not harm it."""
    bps.push_pull(torch.ones(1), name="before")
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    child = context.Process(target=_child, args=(results,))
    child.start()
    child.join()
    assert child.exitcode == 0, child.exitcode
    assert "the parent's" in results.get()
    pid = os.fork()
    if pid == 0:
        sys.exit(0)  # With exit handlers.
    assert os.waitpid(pid, 0)[1] == 0
    assert bps.push_pull(torch.ones(1), average=False, name="after").item() == bps.size()
    print("done", flush=True)


def forks_first():
    """The child joins the job, which its lazy parent has not joined."""
    pid = os.fork()
    if pid == 0:
        bps.init()
        assert bps.push_pull(torch.ones(1), average=False, name="x").item() == bps.size()
        bps.shutdown()
        print("done", flush=True)
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def pauses():
    """Worker 0 pauses for longer than the others' timeout, in an exchange and at a barrier."""
    for wait in (lambda: st.push_pull(torch.ones(1), "x"), st.barrier):
        if st.rank() == 0:
            with st.pause("evaluation"):
                threading.Event().wait(9)
        wait()
    print("done", flush=True)


def _late():
    # At exit, after a failed program has released its worker.
    try:
        st.barrier()
    except errors.Cancelled:
        print("refused", flush=True)


def interrupted():
    """Waits for worker 1, which never comes, at a barrier until Ctrl-C. A later call is refused."""
    bps.push_pull(torch.ones(1), name="before")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if bps.rank() == 1:
        signal.pause()
    try:
        print("at a barrier", flush=True)
        bps.barrier()
    except KeyboardInterrupt:
        print("heard", flush=True)
    bps.push_pull(torch.ones(1), name="never")


def joins():
    """Waits for a scheduler that never starts, until Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("joining", flush=True)
    bps.init()


def main():
    """Runs the function named by the first argument."""
    torch.set_num_threads(1)
    if sys.argv[1] in ("interrupted", "joins"):
        atexit.register(_late)  # Before init(): handlers run in reverse order.
    if sys.argv[1] == "codes_alone" and os.environ["RANK"] == "1":
        os.environ.update(STRETTO_CODEC="*=onebit", STRETTO_CODEC_MIN_BYTES="0")
    bps.init(lazy=sys.argv[1] in ("forks_first", "joins"))
    {"endless": endless, "sits_out": sits_out, "raises": raises,
     "raises_eagerly": raises_eagerly, "exits": exits,
     "differs": differs, "ends_early": ends_early, "names_twice": names_twice,
     "codes_alone": codes_alone, "forks": forks, "forks_first": forks_first,
     "interrupted": interrupted, "joins": joins, "pauses": pauses}[sys.argv[1]]()


if __name__ == "__main__":
    main()
