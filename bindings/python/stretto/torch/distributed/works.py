# SPDX-License-Identifier: Apache-2.0
"""Calls in flight, as torch.distributed knows them: Work, whose wait() raises what the call ended
with, and its future, which a thread completes for those who do not wait themselves.
"""

import collections
import datetime
import itertools
import threading
import time

import torch
from torch._C import _distributed_c10d as c10d

from stretto import _core, errors

_SLICE_S = 0.2  # Between two looks at whether a signal has come.
_MOST_KEPT = 256
_NO_TIMEOUT = datetime.timedelta(0)

_kept: collections.deque = collections.deque()


class Work(c10d.Work):
    """Thread: any."""

    def __init__(self, what, ticket, limit, result, stores):
        super().__init__()
        self._what = what
        self._ticket = ticket
        self._limit = limit
        self._result = result
        self._stores = stores
        self._lock = threading.Lock()
        self._future = None
        _keep(self)

    def wait(self, timeout=_NO_TIMEOUT):
        """Returns True once the tensors have what the call gives. Raises what it ended with, and
        Timeout after that time, or the group's, or the worker's operation timeout."""
        limit = timeout.total_seconds() if timeout > _NO_TIMEOUT else self._limit
        deadline = time.monotonic() + limit
        while not self._ticket.wait_for(min(_SLICE_S, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                raise errors.Timeout(f"was not done within {limit:g} s; it goes on",
                                     operation=self._what)
        self._store()
        return True

    def _store(self):
        with self._lock:
            stores, self._stores = self._stores, ()
            for store in stores:
                store()

    def is_ended(self):
        """True once wait() does not wait."""
        return self._ticket.done()

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

    def result(self):
        """The tensors."""
        return self._result

    def synchronize(self):
        """As wait()."""
        self.wait()

    def source_rank(self):
        """Raises Unsupported: a receive is from a rank that is named."""
        raise errors.Unsupported("the rank of a receive is the one that was given",
                                 operation=self._what)

    _source_rank = source_rank

    def get_future(self):
        """Completed with the tensors, or with a RuntimeError that has the words of what the call
        ended with."""
        with self._lock:
            if self._future is not None:
                return self._future
            # An exception that is set is a value for those who wait in C++; one raised is none.
            ended = torch.futures.Future()
            self._future = ended.then(lambda _: self.wait() and self._result)
        _endings.call(self._ticket, lambda: ended.set_result(None))
        return self._future


def _keep(work):
    # Of a Work that only C++ holds, what Python overrides would be gone. Who waits there does so
    # soon after the call, so the last ones are enough, and those that have not ended.
    _kept.append(work)
    if len(_kept) > _MOST_KEPT:
        first = _kept.popleft()
        if not first.is_ended():
            _kept.append(first)


class _Endings:
    # One thread that calls who is to be called when tickets have ended, in that order.

    def __init__(self):
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._calls = {}
        self._ended = None
        self._is_over = False

    def call(self, ticket, then):
        """Calls `then` once the ticket has ended: at once if it has."""
        if ticket.done():
            then()
            return
        with self._lock:
            if self._is_over:
                raise errors.Cancelled("this program ends")
            if self._ended is None:
                self._start()
            number = next(self._numbers)
            self._calls[number] = then
        self._ended.watch(ticket, number)

    def _start(self):
        self._ended = _core.EndedTickets()
        # No daemon: one that runs while the interpreter is taken down ends the process by abort().
        threading.Thread(target=self._run, name="stretto endings").start()
        getattr(threading, "_register_atexit")(self._stop)

    def _run(self):
        while (number := self._ended.take()) is not None:
            with self._lock:
                then = self._calls.pop(number)
            then()

    def _stop(self):
        # Before the end of threads that are no daemons is waited for.
        with self._lock:
            self._is_over = True
        self._ended.close()


_endings = _Endings()
