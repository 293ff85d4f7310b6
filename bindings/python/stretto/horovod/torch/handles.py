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
from typing import Dict, Tuple


class Pending:
    """An exchange that begins when its turn has come. `begin` returns what has wait() and done().
    Thread: any."""

    def __init__(self, begin):
        self.label = None  # That it is in flight by, if it has a name.
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
    """A handle whose result is made of another's, once."""

    def __init__(self, handle, make):
        self._handle = handle
        self._make = make
        self.done = handle.done

    def wait(self):
        """Waits, and returns the result."""
        return self._make(self._handle.wait())


class _Lane:
    """Begins exchanges one after the other, in the order in which they were asked for. Thread:
    any."""

    def __init__(self):
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
        threading.Thread(target=self._run, name="stretto-horovod", daemon=True).start()

    def _run(self):
        more = True
        while more:
            with self._lock:
                pending = self._waiting.popleft()
            pending.run()
            del pending
            more = self._waiting_now()


_lanes: Dict[str, _Lane] = collections.defaultdict(_Lane)  # Of exchanges without a name, by kind.
_named: Dict[str, Tuple[_Lane, Pending]] = {}
_handles: Dict[int, Pending] = {}
_numbers = itertools.count()


def label_of(kind, name):
    """The name for what workers compare, and for what travels: the same at all of them."""
    return f"horovod.{kind}.{name or 'noname'}"


def _lane_of(kind, name, pending):
    if name is None:
        return _lanes[kind]
    label = label_of(kind, name)
    lane, before = _named.get(label, (None, None))
    if before is not None and not before.done():
        raise ValueError(
            f"Duplicate tensor name {name}: an exchange of that name is in flight, and has to end "
            "before the next begins; call synchronize(), or use another name")
    pending.label = label
    _named[label] = lane or _Lane(), pending
    return _named[label][0]


def result_of(pending):
    """What an exchange that was put on a lane has ended with. Whoever has it frees the name, and
    its tensors with it."""
    try:
        return pending.wait()
    finally:
        if _named.get(pending.label, (None, None))[1] is pending and pending.done():
            _named.pop(pending.label, None)


def put(kind, name, work):
    """Puts an exchange on a lane, and returns it: see result_of(). ValueError if one of that name
    is in flight."""
    pending = Pending(work)
    _lane_of(kind, name, pending).put(pending)
    return pending


def begin(kind, name, work):
    """The same by number, for poll() and synchronize()."""
    pending = put(kind, name, work)
    number = next(_numbers)
    _handles[number] = pending
    return number


def run(kind, name, work):
    """Does an exchange, and returns its result."""
    pending = Pending(work)
    _lane_of(kind, name, pending).take(pending)
    return result_of(pending)


def poll(handle):
    """True once the exchange has ended."""
    pending = _handles.get(handle)
    if pending is None:
        raise ValueError(f"{handle!r} is the handle of nothing that is in flight")
    return pending.done()


def synchronize(handle):
    """Waits for the exchange and returns its tensor, or list of tensors; None for a handle that was
    synchronized before. Raises a stretto.Error if the exchange failed."""
    pending = _handles.pop(handle, None)
    return None if pending is None else result_of(pending)


def settle():
    """Waits until all has begun that was asked for. What cannot begin is for who waits for it."""
    for pending in [*_handles.values(), *(pending for _, pending in _named.values())]:
        pending.wait_until_begun()


def forget():
    """Lets go of what was begun and never synchronized: of a job that is left."""
    _handles.clear()
    _named.clear()
    _lanes.clear()
