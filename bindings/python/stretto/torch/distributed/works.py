# SPDX-License-Identifier: Apache-2.0
"""Calls in flight, as torch.distributed knows them: Work, whose wait() raises what the call ended
with, and its future, which a thread completes for those who do not wait themselves.
"""

import collections
import datetime
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from stretto import errors
from stretto.torch.distributed import compiling, endings

_SLICE_S = 0.2  # Between two looks at whether a signal has come.
_MOST_KEPT = 256
_MOST_LOOKED_AT = 16
_NO_TIMEOUT = datetime.timedelta(0)
_PACKAGE = __name__.rpartition(".")[0]
# Its callbacks make calls, which need one order at all ranks.
_POWER_SGD = "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook"

_held: collections.deque = collections.deque()  # With their tensors.
_kept: collections.deque = collections.deque(maxlen=_MOST_KEPT)  # Without.


@compiling.untraced
class Work(c10d.Work):
    """A call of one or several exchanges, each with its ticket. Thread: any."""

    def __init__(self, what, tickets, limit, result, stores):
        super().__init__()
        self._what = what
        self._tickets = tickets
        self._limit = limit
        self._result = result
        self._stores = stores
        self._lock = threading.Lock()
        self._future = None
        self._is_over = False
        self.source = None
        _release_some()
        if not is_called_by_program():
            _held.append(self)

    def wait(self, timeout=_NO_TIMEOUT):
        """Returns True once the tensors have what the call gives. Raises what it ended with, and
        Timeout after that time, or the group's, or the worker's operation timeout."""
        limit = timeout.total_seconds() if timeout > _NO_TIMEOUT else self._limit
        deadline = time.monotonic() + limit
        try:
            for ticket in self._tickets:
                self._wait_for(ticket, deadline, limit)
            self._store()
        finally:
            self._is_over = self.is_ended()
        return True

    def _wait_for(self, ticket, deadline, limit):
        while not ticket.wait_for(min(_SLICE_S, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                waits_for = ticket.waits_for()
                known = f", {waits_for}" if waits_for else ""
                raise errors.Timeout(f"was not done within {limit:g} s{known}; it goes on",
                                     operation=self._what)

    def _store(self):
        with self._lock:
            stores, self._stores = self._stores, ()
            for store in stores:
                store()

    def is_settled(self):
        """True once it has ended and nothing more will ask for the tensors."""
        future = self._future
        return self._is_over and (future is None or future.done())

    def release(self):
        """Drops the tensors of a call that has ended."""
        self._result, self._future = [], None

    def is_ended(self):
        """True once wait() does not wait."""
        return all(ticket.done() for ticket in self._tickets)

    def is_completed(self):
        """True if it has ended; then the tensors have what the call gives, if it went well."""
        if not self.is_ended():
            return False
        self.exception()  # Which lets the tensors have it.
        return True

    def is_success(self):
        """True if it has ended well."""
        return self.is_ended() and self.exception() is None

    def exception(self):
        """What it has ended with; None: it goes on, or went well."""
        try:
            return None if not self.is_ended() or self.wait() else None
        except errors.Error as error:
            return error

    def _wait_for_end(self):
        # What the call ended with is for those who ask later.
        try:
            self.wait()
        except errors.Error:
            pass

    def result(self):
        """The tensors."""
        return self._result

    def synchronize(self):
        """As wait()."""
        self.wait()

    def source_rank(self):
        """The member that sent what a receive without a rank has got. Raises Unsupported for other
        calls."""
        if self.source is None:
            raise errors.Unsupported("the rank of a receive is the one that was given",
                                     operation=self._what)
        return self.source

    _source_rank = source_rank

    def get_future(self):
        """Completed with the tensors, or with a RuntimeError that has the words of what the call
        ended with. Its callbacks may wait for other futures. Calls that a callback makes count in
        the group's one order of calls; for the callbacks of PyTorch's PowerSGD hook this waits
        for the call's end, so that all ranks make their calls in one order."""
        if _calling_module() == _POWER_SGD:
            self._wait_for_end()
        with self._lock:
            if self._future is not None:
                return self._future
            # An exception that is set is a value for those who wait in C++; one raised is none.
            ended = torch.futures.Future()
            self._future = future = ended.then(lambda _: self.wait() and self._result)
        if self._tickets:
            endings.call(self._tickets[-1], lambda: ended.set_result(None))
        else:  # A call of no tensors has ended.
            ended.set_result(None)
        return future


def _calling_module():
    # The name of the module whose code has called this package, perhaps through PyTorch's C++.
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_PACKAGE) and not compiling.is_between(module):
            return module
        frame = frame.f_back
    return ""


def is_called_by_program():
    """True if the caller's caller is a function of torch.distributed, which passes the Work on to
    a program; else it is most likely C++ of PyTorch, such as that of DistributedDataParallel."""
    return _calling_module() == dist.distributed_c10d.__name__


def _take(queue):
    # The first of a queue, and how many references to it Python has.
    taken = queue.popleft()
    return taken, sys.getrefcount(taken)


_UNUSED = _take(collections.deque([object()]))[1]
"""References to an object of a queue that nothing else refers to."""


def _release_some():
    # If only C++ holds a Work, what Python overrides would be gone: such Works are kept for a
    # while, but without the tensors of a call that has ended. Calls that nothing waits for stay
    # among them, so each new Work looks at several. A program that has a Work may ask for its
    # tensors, and so may a future that is not completed.
    for _ in range(min(len(_held), _MOST_LOOKED_AT)):
        try:
            work, references = _take(_held)
        except IndexError:
            return
        if references > _UNUSED:
            _held.append(work)
        elif work.is_settled() or (len(_held) >= _MOST_KEPT and work.is_ended()):
            work.release()
            _kept.append(work)
        else:
            _held.append(work)
