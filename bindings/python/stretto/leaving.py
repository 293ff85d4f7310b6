# SPDX-License-Identifier: Apache-2.0
"""Leaving by notice. SIGTERM tells a worker that its host, or its place in a cluster, goes. In an
elastic job it leaves in order as its step ends: the others go on without it, and make no step
again. A second SIGTERM, or PATIENCE_S without the end of a step, ends it at once; one within a
second is the same one: a batch system and the launcher may both send it.

Programs that handle SIGTERM themselves do as they like. In a job of fixed size, and before the job
has been joined, SIGTERM ends the process, as ever.
"""

import os
import signal
import sys
import threading
import time

from stretto import session

PATIENCE_S = 20.0
_SAME_S = 1.0  # So long another one is the first one again.
_COMMIT_S = 10.0  # That a program's next commit is waited for.
_STATUS = 0  # That the process ends with: it has done its part.

_told = None  # When.


def watch():
    """From now on this process leaves at a step's end if it is told to. In threads other than the
    main one, where Python cannot do that, nothing happens."""
    if (threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL):
        signal.signal(signal.SIGTERM, _on_notice)


def _forget_in_child():
    """A child has no place in the job that its parent has joined: SIGTERM ends it."""
    global _told
    _told = None
    has_joined = session.is_initialized() and session.current().has_joined
    if has_joined and signal.getsignal(signal.SIGTERM) is _on_notice:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


os.register_at_fork(after_in_child=_forget_in_child)


def _on_notice(number, frame):
    del frame
    global _told
    if _told is not None and time.monotonic() - _told < _SAME_S:
        return
    if _told is not None or not _may_leave():
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return
    _told = time.monotonic()
    _say("was told to end (SIGTERM), and leaves as this step ends")
    last = threading.Timer(PATIENCE_S, _end_now)
    last.daemon = True
    last.start()


def _may_leave():
    # A child of the process, such as a loader of data, has no place in the job.
    now = session.current() if session.is_initialized() else None
    return now is not None and not now.is_child() and now.has_joined and now.elastic


def _say(words):
    os.write(2, f"stretto: this worker {words}\n".encode())  # Also amid another write.


def _end_now():
    _say(f"has come to no end of a step within {PATIENCE_S:.0f} s of SIGTERM, and ends now")
    os._exit(128 + signal.SIGTERM)


def leave_if_told(after_commit=False, amid_round=False):
    """A step has ended. Leaves the job and raises SystemExit, if this worker is to leave; of a
    program with a state at its next commit, and amid a round of local steps at its end, unless that
    takes long."""
    if _told is None:
        return
    waited = time.monotonic() - _told
    waits = amid_round or session.current().has_state and not after_commit
    if waits and waited < _COMMIT_S:
        return
    session.end(max(0.0, PATIENCE_S - waited))
    _say("has left the job")
    sys.exit(_STATUS)
