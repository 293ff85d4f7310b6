# SPDX-License-Identifier: Apache-2.0
"""Graceful leave on a preemption notice. SIGTERM tells a worker that its host or its pod will be
removed. In an elastic job the worker leaves at the end of its step: the others continue without it
and repeat no step. A second SIGTERM, or PATIENCE_S without the end of a step, ends it immediately,
also in native code; a signal within a second counts as the same notice, since a batch system and
the launcher may both send it.

Programs that handle SIGTERM themselves are unaffected. In a job of fixed size, and before the job
has been joined, SIGTERM ends the process as usual.
"""

import contextlib
import os
import re
import signal
import sys
import threading
import traceback

from stretto import _core, followers, session

PATIENCE_S = 20.0
_COMMIT_S = 10.0  # Timeout for the program's next commit.
_STATUS = 0  # Exit status: the process has done its part.
_SAME_S = 1.0  # A notice reaches all processes of a worker within it.
# DataLoader's errors for a worker process of its own that a notice has ended.
_LOADER_ENDED = re.compile(r"DataLoader worker \(pid.*(exited unexpectedly|signal: Terminated)")
_LOADER_TOLD = re.compile(r"DataLoader worker \(pid.*signal: Terminated")
_LOADER_WAITS = "_try_get_data"  # The function of DataLoader that monitors its processes.

_is_wanted = False
_watch = None
_has_hook = False


def watch():
    """From now on this process, while it is a worker of an elastic job, leaves at the end of a step
    after a notice."""
    global _is_wanted
    _is_wanted = True
    if session.is_initialized():
        _follow(session.current())


def _follow(now):
    # A notice holds until the process ends.
    global _watch
    if told_ago() is not None:
        return
    if not now.in_elastic_job:
        _watch = None
    elif _is_wanted and _watch is None:
        _watch = _core.NoticeWatch(PATIENCE_S)
        _leave_when_loader_ends()


followers.add(_follow)


def _leave_when_loader_ends():
    """A notice to all processes of a worker ends those of its DataLoader, which raises an exception
    in the program. From now on the worker then leaves, unless the program catches it."""
    global _has_hook
    if _has_hook:
        return
    _has_hook = True
    before = sys.excepthook

    def hook(kind, error, trace):
        _silence_loader()
        if not issubclass(kind, KeyboardInterrupt) and _is_by_notice(error):
            _say("leaves, as a process of its DataLoader was told to end too")
            _leave(told_ago())
        before(kind, error, trace)

    sys.excepthook = hook


def _silence_loader():
    # DataLoader's SIGCHLD handler raises for each of its processes that ends, also during this
    # call.
    while threading.current_thread() is threading.main_thread():
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return
        except RuntimeError:
            pass


def _is_by_notice(error):
    is_cut = isinstance(error, (OSError, EOFError)) and any(
        frame.name == _LOADER_WAITS for frame in traceback.extract_tb(error.__traceback__))
    texts = _texts_of(error)
    if not is_cut and not any(map(_LOADER_ENDED.search, texts)):
        return False
    if told_ago() is None and (is_cut or any(map(_LOADER_TOLD.search, texts))):
        threading.Event().wait(_SAME_S)  # This process may get the notice next.
    return told_ago() is not None and session.is_initialized()


def _texts_of(error):
    # Includes chained exceptions, as a traceback does: they may form a cycle.
    texts = {}
    while error is not None and id(error) not in texts:
        texts[id(error)] = str(error)
        hidden = error.__cause__ is not None or error.__suppress_context__
        error = error.__cause__ if hidden else error.__context__
    return texts.values()


def told_ago():
    """Seconds since this process got the notice; None without one."""
    return None if _watch is None else _watch.told_ago()


def _say(words):
    os.write(2, f"stretto: this worker {words}\n".encode())  # Safe within another write.


def leave_if_told(after_commit=False, amid_round=False):
    """A step has ended. Leaves the job and raises SystemExit, if this worker has a notice; a
    program with a state leaves at its next commit, and within a round of local steps at its end,
    unless that takes long. In a thread other than the main one it ends the process instead."""
    waited = told_ago()
    if waited is None:
        if _watch is not None:
            _watch.reinstall()
        return
    waits = amid_round or session.current().has_state and not after_commit
    if waits and waited < _COMMIT_S:
        return
    _leave(waited)


def _leave(waited):
    session.end(max(0.0, PATIENCE_S - waited))
    _say("has left the job")
    if threading.current_thread() is not threading.main_thread():
        _end_process()
    sys.exit(_STATUS)


def _end_process():
    # SystemExit would end this thread only, and the main thread would continue without the job.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # None, broken or closed.
            stream.flush()
    os._exit(_STATUS)
