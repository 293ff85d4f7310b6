# SPDX-License-Identifier: Apache-2.0
"""Exchanges by handle number, as in Horovod's scripts. Each starts with a comparison of the
workers' requests, as in Horovod, so that a call may use a different type or shape each time, and a
difference is an error at all workers. The exchange must follow the comparison also while the
program computes: operation queues do that, with a thread each while they have work.
"""

import collections
import itertools
import threading
import time
from typing import Dict, Tuple

from stretto import errors, followers, unfinished

_THREADS = "stretto-horovod"
_JOIN_S = 1.0  # A longer wait is for an operation that no longer ends.


class Pending:
    """An exchange that starts when its queue reaches it. `begin` returns an object with wait() and
    done(). Thread: any."""

    def __init__(self, begin):
        self.place = None  # Queue and kind under which its name is taken, if it has one.
        self._begin = begin
        self._begun = threading.Event()
        self._handle = None
        self._error = None

    def run(self):
        """Starts it; called once."""
        try:
            self._handle = self._begin()
        except BaseException as error:  # pylint: disable=broad-except
            self._error = error  # wait() raises it.
        self._begin = None
        self._begun.set()

    def wait_until_begun(self):
        """Waits until it has started, or failed to."""
        self._begun.wait()

    def done(self):
        """True once it has ended."""
        return self._begun.is_set() and (self._error is not None or self._handle.done())

    def wait(self):
        """Waits for the end and returns the result. Raises its error."""
        self._begun.wait()
        if self._error is not None:
            raise self._error
        return self._handle.wait()


class Ended:
    """The handle of an available result."""

    def __init__(self, result):
        self._result = result

    def done(self):
        """True."""
        return True

    def wait(self):
        """The result."""
        return self._result


class Mapped:
    """A handle whose result is computed once from another handle's. Thread: one at a time."""

    def __init__(self, handle, make):
        self._handle = handle
        self._make = make
        self._result = None

    def done(self):
        """True once it has ended."""
        return self._handle is None or self._handle.done()

    def wait(self):
        """Waits, and returns the same result each time."""
        if self._handle is not None:
            self._result = self._make(self._handle.wait())
            self._handle = self._make = None
        return self._result


def mapped(work, make):
    """A handle whose result is computed from this one's."""
    return lambda: Mapped(work(), make)


def first_of(work):
    """A handle whose result is the first of this one's."""
    return mapped(work, lambda results: results[0])


class _Lane:
    """Starts exchanges one after another, in the order of the requests. Thread: any."""

    def __init__(self):
        self.last = {}  # The last exchange of each named kind, until its result is taken.
        self._lock = threading.Lock()
        self._waiting = collections.deque()
        self._busy = False

    def put(self, pending):
        """Starts it on a thread."""
        with self._lock:
            self._waiting.append(pending)
            if self._busy:
                return
            self._busy = True
        self._start()

    def take(self, pending):
        """Starts it on this thread, unless others wait."""
        with self._lock:
            is_free = not self._busy
            self._busy = True
            if not is_free:
                self._waiting.append(pending)
        if is_free:
            pending.run()
            if self._waiting_now():
                self._start()

    def _waiting_now(self):
        with self._lock:
            self._busy = bool(self._waiting)
            return self._busy

    def _start(self):
        threading.Thread(target=self._run, name=_THREADS, daemon=True).start()

    def _run(self):
        more = True
        while more:
            with self._lock:
                pending = self._waiting.popleft()
            pending.run()
            del pending
            more = self._waiting_now()


def _join_lanes(now):
    """Once this worker has left, the operations that queues wait for have ended, or stay in native
    code. A thread that runs PyTorch code while the interpreter exits aborts the process."""
    if now.has_joined or now.is_child():
        return
    patience = time.monotonic() + _JOIN_S
    for thread in threading.enumerate():
        if thread.name == _THREADS and thread is not threading.current_thread():
            thread.join(max(0.0, patience - time.monotonic()))


followers.add(_join_lanes)

# By process set and name; unnamed exchanges by kind.
_lanes: Dict[Tuple[int, bool, str], _Lane] = {}
_lock = threading.Lock()  # Of the lanes.
_handles: Dict[int, Pending] = {}
_numbers = itertools.count()


def label_of(kind, name):
    """The label by which workers match their calls. Named calls match by name alone, so that a
    mismatch of kinds is reported. Unnamed calls match by kind."""
    return f"horovod.{kind}.noname" if name is None else f"horovod.named.{name}"


def _lane_of(process_set, kind, name, pending):
    key = process_set.process_set_id, name is None, kind if name is None else name
    with _lock:
        lane = _lanes.get(key) or _Lane()
        if name is not None:
            before = lane.last.get(kind)
            if before is not None and not before.done():
                raise ValueError(
                    f"Duplicate tensor name {name}: an exchange of that name has not ended, and "
                    "has to before the next begins; call synchronize(), or use another name")
            pending.place = key, kind
            lane.last[kind] = pending
        _lanes[key] = lane
        return lane


def _free(pending):
    # Releases its name and its tensors.
    if pending.place is None or not pending.done():
        return
    key, kind = pending.place
    with _lock:
        lane = _lanes.get(key)
        if lane is not None and lane.last.get(kind) is pending:
            del lane.last[kind]
            if not lane.last:
                del _lanes[key]


def result_of(pending):
    """The result of an exchange that was put on a queue. Returning it frees the name."""
    try:
        return pending.wait()
    finally:
        _free(pending)


def put(process_set, kind, name, work):
    """Queues an exchange, and returns it: see result_of(). ValueError if an exchange of that kind
    and name has not ended."""
    pending = Pending(work)
    _lane_of(process_set, kind, name, pending).put(pending)
    return pending


def begin(process_set, kind, name, work):
    """As put(), but returns the number for poll() and synchronize()."""
    pending = put(process_set, kind, name, work)
    number = next(_numbers)
    _handles[number] = pending
    return number


def run(process_set, kind, name, work):
    """Performs an exchange, and returns its result."""
    pending = Pending(work)

    @unfinished.whole(kind, always=True)
    def ended():
        _lane_of(process_set, kind, name, pending).take(pending)
        return result_of(pending)

    return ended()


def poll(handle):
    """True once the exchange has ended."""
    pending = _handles.get(handle)
    if pending is None:
        raise ValueError(f"{handle!r} is the handle of no exchange, or of one that was "
                         "synchronized")
    return pending.done()


def synchronize(handle):
    """Waits for the exchange and returns its tensor, or list of tensors; None for a handle that was
    synchronized before. Raises a stretto.Error if the exchange failed. After another exception,
    such as one of a signal handler, it can be called again."""
    pending = _handles.get(handle)
    if pending is None:
        return None
    try:
        result = result_of(pending)
    except errors.Error:
        del _handles[handle]
        raise
    del _handles[handle]
    return result


def settle():
    """Waits until all requested exchanges have started. The caller that waits for a failed one gets
    its error."""
    with _lock:
        named = [pending for lane in _lanes.values() for pending in lane.last.values()]
    for pending in [*_handles.values(), *named]:
        pending.wait_until_begun()


def forget_set(process_set_id):
    """Releases the names of a removed process set."""
    with _lock:
        for key in [key for key in _lanes if key[0] == process_set_id]:
            del _lanes[key]


def forget():
    """Releases exchanges that were started and never synchronized, of a job that this worker
    leaves."""
    with _lock:
        _lanes.clear()
    _handles.clear()
