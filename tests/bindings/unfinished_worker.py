# SPDX-License-Identifier: Apache-2.0
"""Run by both workers of a job of unfinished_test.py: a signal handler of rank 0 raises an
exception while rank 0 waits for rank 1. Prints "done" if all was right.

With the name of a call, that call alone is interrupted, and rank 0 ends with status 7.
"""

import contextlib
import os
import pathlib
import signal
import sys
import unittest

import torch
from torch import nn

import byteps.torch as bps
import stretto.horovod.torch as hvd
import stretto.torch as st
import work
from stretto import session

FLAGS = pathlib.Path(sys.argv[1])
WAITS = ("wait", "wait_for_mean", "barrier")
STATUS = 7


class Alarm(Exception):
    """The exception of the handler."""


def raise_within_wait(_, frame):
    """Raises Alarm if the program waits for its peer; otherwise the timer continues."""
    while frame is not None:
        if frame.f_code.co_name in WAITS and "stretto" in frame.f_code.co_filename:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise Alarm
        frame = frame.f_back


class Numbered:
    """A flag that rank 0 sets once its call was interrupted, and that rank 1 waits for: a pipe,
    whose open() waits for both ranks."""

    number = 0

    @classmethod
    def _open(cls, mode):
        path = FLAGS / str(cls.number)
        with contextlib.suppress(FileExistsError):
            os.mkfifo(path)
        path.open(mode, encoding="ascii").close()

    @classmethod
    def set(cls):
        """Called by rank 0."""
        cls._open("w")

    @classmethod
    def wait(cls):
        """Called by rank 1."""
        cls._open("r")


def linear():
    """A module with the same values at all workers."""
    torch.manual_seed(1)
    return nn.Linear(3, 1)


def interrupt(test, call):
    """Rank 0 calls, and is interrupted as it waits; rank 1 calls after that."""
    Numbered.number += 1
    if st.rank() != 0:
        Numbered.wait()
        return call()
    signal.signal(signal.SIGALRM, raise_within_wait)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with test.assertRaises(Alarm):
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        Numbered.set()
    return None


def ones():
    """A tensor."""
    return torch.ones(4)


class Interrupted(unittest.TestCase):
    """Rank 1 answers each interrupted call, so that later calls match again, and a test can
    continue."""

    def check(self, operation, call):
        """Rank 0 refuses further calls."""
        interrupt(self, call)
        if st.rank() == 0:
            for further in (call, st.barrier, lambda: st.push_pull(ones(), "another")):
                with self.assertRaisesRegex(st.errors.Cancelled,
                                            f"{operation} was ended by Alarm before"):
                    further()
            session.current().refusal = None

    def test_push_pull_refuses(self):
        for name, call in (("push_pull", lambda: st.push_pull(ones(), "a")),
                           ("push_pull", lambda: st.push_pull_(ones(), "b")),
                           ("push_pull", lambda: bps.ops.push_pull_inplace(ones(), name="c")),
                           ("grouped_push_pull", lambda: st.grouped_push_pull([ones()] * 2, "d")),
                           ("push_pull", lambda: st.push_pull(ones().requires_grad_(), "e"))):
            self.check(name, call)

    def test_backward_refuses(self):
        total = st.push_pull(ones().requires_grad_(), "f").sum()
        self.check("backward through push_pull", lambda: total.backward(retain_graph=True))

    def test_barrier_refuses(self):
        self.check("barrier", st.barrier)

    def check_optimizer(self, **options):
        """Checks a step of an optimizer after an earlier step."""
        module = linear()
        st.broadcast_parameters(module.state_dict(), 0)
        optimizer = st.DistributedOptimizer(torch.optim.SGD(module.parameters(), lr=0.1),
                                            module.named_parameters(), **options)

        def step():
            optimizer.zero_grad()
            module(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            optimizer.finish()

        step()
        self.check("the exchange of gradients", step)

    def test_steps_refuse(self):
        for options in ({}, {"exchange": "direct"}, {"mode": "delayed", "stale": 0},
                        {"mode": "delayed", "stale": 1}):
            with self.subTest(options):
                self.check_optimizer(**options)

    def test_layerwise_step_refuses(self):
        module = linear()
        st.broadcast_parameters(module.state_dict(), 0)
        optimizer = st.DistributedOptimizer(torch.optim.SGD(module.parameters(), lr=0.1),
                                            module.named_parameters(), model=module)
        for _ in range(2):
            module(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            optimizer.finish()

        def step():
            module(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            module(torch.ones(2, 3))

        before = module.weight.detach().clone()
        interrupt(self, step)
        if st.rank() == 0:
            with self.assertRaisesRegex(st.errors.Cancelled, "the exchange of gradients was ended"):
                step()
            optimizer.state_dict()
            self.assertTrue(torch.equal(module.state_dict()["weight"], before))
            session.current().refusal = None

    def test_ddp_refuses(self):
        model = st.DistributedDataParallel(linear())

        def backward():
            model(torch.ones(2, 3)).sum().backward()

        backward()
        self.check("the exchange of gradients", backward)

    def test_step_that_an_interrupt_ends_refuses(self):
        """At both workers, in the optimizer's own part of the step."""

        class Interrupting(torch.optim.SGD):
            """Ends the second step."""

            steps = 0

            def step(self, closure=None):
                """Like SGD."""
                Interrupting.steps += 1
                if Interrupting.steps == 2:
                    raise KeyboardInterrupt
                return super().step(closure)

        for mode in ("sync", "eager"):
            module = linear()
            Interrupting.steps = 0
            optimizer = st.DistributedOptimizer(Interrupting(module.parameters(), lr=0.1),
                                                module.named_parameters(), mode=mode)
            for expected in (None, KeyboardInterrupt, st.errors.Cancelled):
                module.zero_grad()
                if expected is None:
                    module(torch.ones(2, 3)).sum().backward()
                    optimizer.step()
                    continue
                with self.assertRaises(expected):
                    module(torch.ones(2, 3)).sum().backward()
                    optimizer.step()
            with self.assertRaisesRegex(st.errors.Cancelled,
                                        "an optimizer's step was ended by KeyboardInterrupt"):
                st.barrier()
            session.current().refusal = None

    def test_handles_can_be_waited_for_again(self):
        """Nothing is lost, so that nothing is refused."""
        tensor = ones() * (st.rank() + 1)
        for name, begin, wait in (
                ("g", lambda name: st.push_pull_async(tensor, name), lambda handle: handle.wait()),
                ("h", lambda name: bps.ops.push_pull_async(tensor, True, name), bps.synchronize),
                ("i", lambda name: hvd.allreduce_async(tensor, name=name), hvd.synchronize)):
            Numbered.number += 1
            if st.rank() != 0:
                Numbered.wait()
            handle = begin(name)
            if st.rank() == 0:
                signal.signal(signal.SIGALRM, raise_within_wait)
                signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
                with self.assertRaises(Alarm):
                    wait(handle)
                Numbered.set()
            self.assertEqual(wait(handle).tolist(), [1.5] * 4)
            st.barrier()

    def test_bad_arguments_refuse_nothing(self):
        with self.assertRaises(TypeError):
            st.push_pull("no tensor", "j")
        with self.assertRaises((TypeError, ValueError)):  # At rank 0, and elsewhere.
            st.broadcast_object(object())
        st.barrier()


def local_steps():
    """A round of LocalSteps."""
    module = linear()
    optimizer = st.LocalSteps(torch.optim.SGD(module.parameters(), lr=0.1),
                              module.named_parameters(), every=1, outer="nesterov")
    return optimizer.step


def all_to_all():
    """The second call: the first makes a group."""
    st.alltoall(ones())
    return lambda: st.alltoall(ones())


CALLS = {
    "allgather": ("allgather", lambda: lambda: st.allgather(ones())),
    "local": ("an outer round", local_steps),
    "object": ("broadcast_object", lambda: lambda: st.broadcast_object(1, root_rank=1)),
    "objects": ("allgather_object", lambda: lambda: st.allgather_object(1)),
    "parameters": ("broadcast_parameters",
                   lambda: lambda: st.broadcast_parameters([ones()], root_rank=1)),
    "alltoall": ("alltoall", all_to_all),
    "horovod": ("allreduce", lambda: lambda: hvd.allreduce(ones(), name="k")),
}
"""Calls of several exchanges, by name: their operation, and what makes one."""


def interrupt_one(name):
    """Rank 0 is interrupted in the call, refuses another one, and ends."""
    st.init(lazy=False)
    operation, make = CALLS[name]
    test = unittest.TestCase()
    call = make()
    if st.rank() != 0:
        try:
            interrupt(test, call)
            st.barrier()
        except st.Error:
            os._exit(STATUS)  # Rank 0 is lost, or its group has failed.
    interrupt(test, call)
    with test.assertRaisesRegex(st.errors.Cancelled, f"{operation} was ended by Alarm"):
        st.push_pull(ones(), "another")
    sys.stdout.write("refused\n")
    sys.stdout.flush()
    os._exit(STATUS)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        interrupt_one(sys.argv[2])
    work.run_tests([])
    print("done", flush=True)
