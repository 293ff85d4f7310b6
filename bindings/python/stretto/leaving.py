# SPDX-License-Identifier: Apache-2.0
"""Leaving by notice. SIGTERM tells a worker that its host, or its place in a cluster, goes. In an
elastic job it leaves in order as its step ends: the others go on without it, and make no step
again. A second SIGTERM, or PATIENCE_S without the end of a step, ends it at once, also in native
code; one within a second is the same one: a batch system and the launcher may both send it.

Programs that handle SIGTERM themselves do as they like. In a job of fixed size, and before the job
has been joined, SIGTERM ends the process, as ever.
"""

import os
import sys

from stretto import _core, followers, session

PATIENCE_S = 20.0
_COMMIT_S = 10.0  # That a program's next commit is waited for.
_STATUS = 0  # That the process ends with: it has done its part.

_is_wanted = False
_watch = None


def watch():
    """From now on this process, as long as it is a worker of an elastic job, leaves at a step's end
    if it is told to."""
    global _is_wanted
    _is_wanted = True
    if session.is_initialized():
        _follow(session.current())


def _follow(now):
    # Once told, it stays so until the process ends.
    global _watch
    if told_ago() is not None:
        return
    if not now.in_elastic_job:
        _watch = None
    elif _is_wanted and _watch is None:
        _watch = _core.NoticeWatch(PATIENCE_S)


followers.add(_follow)


def told_ago():
    """How many seconds ago this process was told to leave; None if it was not."""
    return None if _watch is None else _watch.told_ago()


def _say(words):
    os.write(2, f"stretto: this worker {words}\n".encode())  # Also amid another write.


def leave_if_told(after_commit=False, amid_round=False):
    """A step has ended. Leaves the job and raises SystemExit, if this worker is to leave; of a
    program with a state at its next commit, and amid a round of local steps at its end, unless that
    takes long."""
    waited = told_ago()
    if waited is None:
        return
    waits = amid_round or session.current().has_state and not after_commit
    if waits and waited < _COMMIT_S:
        return
    _leave(waited)


def _leave(waited):
    session.end(max(0.0, PATIENCE_S - waited))
    _say("has left the job")
    sys.exit(_STATUS)
