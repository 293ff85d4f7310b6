# SPDX-License-Identifier: Apache-2.0
"""Threads that complete futures when calls have ended. A completed future runs its callbacks on the
thread that completes it, and a callback may wait for another future. So one thread always waits for
the next end: after taking an end, a thread starts a successor before its call.
"""

import contextlib
import itertools
import os
import threading
from typing import List

from stretto import _core, errors

_MOST_IDLE = 2  # Threads that wait for ends at a time.


class _Endings:
    # Calls functions when their tickets have ended, in the order of the ends. A function that
    # blocks delays no other function.

    def __init__(self):
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._calls = {}
        self._ended = None
        self._idle = 0  # Threads that wait for the next end,
        self._busy = 0  # and threads within a call.
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
                self._ended = _core.EndedTickets()
            if not self._idle and not self._busy:
                self._start()
            number = next(self._numbers)
            self._calls[number] = then
        self._ended.watch(ticket, number)

    def _start(self):
        # No daemon: a daemon that runs while the interpreter shuts down aborts the process.
        threading.Thread(target=self._run, name="stretto endings").start()
        self._idle += 1

    def _run(self):
        while (number := self._ended.take()) is not None:
            self._call_one(number)
            with self._lock:
                if self._idle >= _MOST_IDLE:
                    return
                self._idle += 1

    def _call_one(self, number):
        with self._lock:
            then = self._calls.pop(number)
            self._idle -= 1
            self._busy += 1
            if not self._idle:
                with contextlib.suppress(RuntimeError):  # No more threads: later ends wait.
                    self._start()
        try:
            then()
        finally:
            with self._lock:
                self._busy -= 1
                self._close_if_over()

    def stop(self):
        """Ends the threads after the last call. Running functions may still wait for tickets."""
        with self._lock:
            self._is_over = True
            self._close_if_over()

    def _close_if_over(self):
        if self._is_over and not self._busy and self._ended is not None:
            self._ended.close()


_endings = _Endings()
_of_parents: List[_Endings] = []


def call(ticket, then):
    """Calls `then` once the ticket has ended: at once if it has, else on a thread of this module.
    Raises Cancelled if the program ends before that."""
    _endings.call(ticket, then)


def _begin_in_child():
    # A forked child has none of the threads, which may have held locks. The object at which they
    # waited is never freed: its destructor would wait for them.
    global _endings
    _of_parents.append(_endings)
    _endings = _Endings()


os.register_at_fork(after_in_child=_begin_in_child)
# Runs before the interpreter waits for non-daemon threads.
getattr(threading, "_register_atexit")(lambda: _endings.stop())
