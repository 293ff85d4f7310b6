# SPDX-License-Identifier: Apache-2.0
"""Calls in flight for torch.distributed: Work, whose wait() raises the error of the call, and its
future, which a thread completes for callers that do not wait.
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

_SLICE_S = 0.2  # Interval between checks for signals.
_MOST_KEPT = 256
_MOST_LOOKED_AT = 16
_NO_TIMEOUT = datetime.timedelta(0)
_PACKAGE = __name__.rpartition(".")[0]
# The hook's callbacks make calls, which need one order at all ranks.
_POWER_SGD = "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook"

_held: collections.deque = collections.deque()  # Works with their tensors.
_kept: collections.deque = collections.deque(maxlen=_MOST_KEPT)  # Without tensors.


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
        """Returns True once the tensors have the result of the call. Raises the error of the call,
        and Timeout after `timeout`, or the group's timeout, or the worker's operation timeout."""
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
        """True once the call has ended and no caller will ask for the tensors."""
        future = self._future
        return self._is_over and (future is None or future.done())

    def release(self):
        """Drops the tensors of a call that has ended."""
        self._result, self._future = [], None

    def is_ended(self):
        """True once wait() returns at once."""
        return all(ticket.done() for ticket in self._tickets)

    def is_completed(self):
        """True if the call has ended; the tensors then have its result, unless it failed."""
        if not self.is_ended():
            return False
        self.exception()  # This stores the result into the tensors.
        return True

    def is_success(self):
        """True if the call has ended without an error."""
        return self.is_ended() and self.exception() is None

    def exception(self):
        """The error of the call; None: the call is running or has succeeded."""
        try:
            return None if not self.is_ended() or self.wait() else None
        except errors.Error as error:
            return error

    def _wait_for_end(self):
        # The error of the call is for later callers.
        try:
            self.wait()
        except errors.Error:
            pass

    def result(self):
        """The tensors."""
        return self._result

    def synchronize(self):
        """Like wait()."""
        self.wait()

    def source_rank(self):
        """The member whose message a receive without a rank got. Raises Unsupported for other
        calls."""
        if self.source is None:
            raise errors.Unsupported("the rank of a receive is the one that was given",
                                     operation=self._what)
        return self.source

    _source_rank = source_rank

    def get_future(self):
        """A future that completes with the tensors, or with a RuntimeError that has the text of the
        call's error. Its callbacks may wait for other futures. Calls of a callback count in the
        group's one order of calls. For the callbacks of PyTorch's PowerSGD hook this waits for the
        call's end, so that all ranks make their calls in one order."""
        if _calling_module() == _POWER_SGD:
            self._wait_for_end()
        with self._lock:
            if self._future is not None:
                return self._future
            # Callers in C++ see an exception that is set as a value, but not a raised exception.
            ended = torch.futures.Future()
            self._future = future = ended.then(lambda _: self.wait() and self._result)
        if self._tickets:
            endings.call(self._tickets[-1], lambda: ended.set_result(None))
        else:  # A call without tensors has ended.
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
    """True if the caller's caller is a function of torch.distributed, which passes the Work on to a
    program; else the caller is most likely C++ of PyTorch, such as DistributedDataParallel."""
    return _calling_module() == dist.distributed_c10d.__name__


def _take(queue):
    # The first object of a queue, and its number of references.
    taken = queue.popleft()
    return taken, sys.getrefcount(taken)


_UNUSED = _take(collections.deque([object()]))[1]
"""References to an object of a queue that nothing else refers to."""


def _release_some():
    # If only C++ held a Work, its Python overrides would be gone. So such Works are kept for a
    # while, but without the tensors of a call that has ended. Unfinished calls remain in the queue,
    # so each new Work checks several. A program with a Work may ask for its tensors, and so may a
    # future that is not completed.
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
