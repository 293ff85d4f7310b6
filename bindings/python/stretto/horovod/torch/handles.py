# SPDX-License-Identifier: Apache-2.0
"""Exchanges by number, as Horovod's scripts know them. Each begins with a comparison of what the
workers ask for, as Horovod's do, so that whatever they have in one place of their programs may be
of another type or shape each time, and is an error at all of them if it differs. What is compared
first has to be followed by something when that is known, also while the program computes: lanes do
that, a thread each while they have work.
"""

import collections
import itertools
import threading
import time
from typing import Dict, Tuple

from stretto import errors, followers, unfinished

_THREADS = "stretto-horovod"
_JOIN_S = 1.0  # A lane that takes longer waits for what no longer ends.


class Pending:
    """An exchange that begins when its turn has come. `begin` returns what has wait() and done().
    Thread: any."""

    def __init__(self, begin):
        self.place = None  # Lane and kind by which its name is taken, if it has one.
        self._begin = begin
        self._begun = threading.Event()
        self._handle = None
        self._error = None

    def run(self):
        """Begins it; called once."""
        try:
            self._handle = self._begin()
        except BaseException as error:  # pylint: disable=broad-except
            self._error = error  # Whoever waits for it gets it.
        self._begin = None
        self._begun.set()

    def wait_until_begun(self):
        """Waits for its turn, or for what kept it from it."""
        self._begun.wait()

    def done(self):
        """True once it has ended."""
        return self._begun.is_set() and (self._error is not None or self._handle.done())

    def wait(self):
        """Waits for the end and returns the result. Raises what went wrong."""
        self._begun.wait()
        if self._error is not None:
            raise self._error
        return self._handle.wait()


class Ended:
    """The handle on something that is there."""

    def __init__(self, result):
        self._result = result

    def done(self):
        """True."""
        return True

    def wait(self):
        """The result."""
        return self._result


class Mapped:
    """A handle whose result is made of another's, once. Thread: one at a time."""

    def __init__(self, handle, make):
        self._handle = handle
        self._make = make
        self._result = None

    def done(self):
        """True once it has ended."""
        return self._handle is None or self._handle.done()

    def wait(self):
        """Waits, and returns the result: the same each time."""
        if self._handle is not None:
            self._result = self._make(self._handle.wait())
            self._handle = self._make = None
        return self._result


def mapped(work, make):
    """The work whose result is made of this one's."""
    return lambda: Mapped(work(), make)


def first_of(work):
    """The work whose result is the first one of this one's."""
    return mapped(work, lambda results: results[0])


class _Lane:
    """Begins exchanges one after the other, in the order in which they were asked for. Thread:
    any."""

    def __init__(self):
        self.last = {}  # Of each kind that has a name the last one, until somebody has its result.
        self._lock = threading.Lock()
        self._waiting = collections.deque()
        self._busy = False

    def put(self, pending):
        """Begins it on a thread."""
        with self._lock:
            self._waiting.append(pending)
            if self._busy:
                return
            self._busy = True
        self._start()

    def take(self, pending):
        """Begins it here, unless others wait."""
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
    """Once this worker has left, what lanes wait for has ended, or they stay in native code. A
    thread that runs code of PyTorch's while the interpreter ends aborts the process."""
    if now.has_joined or now.is_child():
        return
    patience = time.monotonic() + _JOIN_S
    for thread in threading.enumerate():
        if thread.name == _THREADS and thread is not threading.current_thread():
            thread.join(max(0.0, patience - time.monotonic()))


followers.add(_join_lanes)

# By process set and name, and of what has no name by kind.
_lanes: Dict[Tuple[int, bool, str], _Lane] = {}
_lock = threading.Lock()  # Of the lanes.
_handles: Dict[int, Pending] = {}
_numbers = itertools.count()


def label_of(kind, name):
    """The label by which workers' calls meet: those of one name, whatever they call by it, so that
    they are told if that differs; without a name those of one kind."""
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
    # Its name, and its tensors with it.
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
    """What an exchange that was put on a lane has ended with. Whoever has it frees the name."""
    try:
        return pending.wait()
    finally:
        _free(pending)


def put(process_set, kind, name, work):
    """Puts an exchange on a lane, and returns it: see result_of(). ValueError if one of that kind
    and name has not ended."""
    pending = Pending(work)
    _lane_of(process_set, kind, name, pending).put(pending)
    return pending


def begin(process_set, kind, name, work):
    """The same by number, for poll() and synchronize()."""
    pending = put(process_set, kind, name, work)
    number = next(_numbers)
    _handles[number] = pending
    return number


def run(process_set, kind, name, work):
    """Does an exchange, and returns its result."""
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
    """Waits until all has begun that was asked for. What cannot begin is for who waits for it."""
    with _lock:
        named = [pending for lane in _lanes.values() for pending in lane.last.values()]
    for pending in [*_handles.values(), *named]:
        pending.wait_until_begun()


def forget_set(process_set_id):
    """Lets go of the names of a process set that was removed."""
    with _lock:
        for key in [key for key in _lanes if key[0] == process_set_id]:
            del _lanes[key]


def forget():
    """Lets go of what was begun and never synchronized: of a job that is left."""
    with _lock:
        _lanes.clear()
    _handles.clear()
