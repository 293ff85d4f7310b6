# SPDX-License-Identifier: Apache-2.0
"""Rejoining an elastic job that has expelled this worker, whose process is running: its link was
down for longer than STRETTO_DEAD_AFTER_S, or it was stopped. The others have continued. The process
joins like a new worker, before a step, and gets the current state.
"""

import sys
import time
from typing import List

from stretto import errors, session

# A link that passes little, such as a hello, and no data lets a worker join and be lost again; all
# others wait for it each time.
_MOST_IN_VAIN = 3
_IN_VAIN_S = 10.0  # A worker that is lost this soon after its rejoin has failed to rejoin.

_came: List[float] = []  # Times of the rejoins that failed; the last one may have succeeded.


def may_return(error):
    """True if the error says that the job continues without this worker, which can rejoin."""
    return (isinstance(error, errors.Error) and session.is_initialized()
            and session.current().lost_as != 0)


def come_again(error):
    """Rejoins the job, in the place of the worker that this process was. Waits for the link as long
    as a starting worker waits for the others. Raises `error`, which reported the loss, if the job
    is over, has no free rank, or has lost this worker several times in a row soon after a
    rejoin."""
    before, began = session.current(), time.monotonic()
    former = before.lost_as
    _say(f"is lost to its job, and tries to come in again: {error.cause}")
    wrapped = (*_living(before.optimizers), *_living(before.apart))
    exchanges = [each._stretto_exchange for each in wrapped]
    for exchange in (*exchanges, *_living(before.modules)):
        exchange.forget_step()
    if not _came or began - _came[-1] > _IN_VAIN_S:
        _came.clear()
    while True:
        if len(_came) == _MOST_IN_VAIN:
            _say(f"has come again {_MOST_IN_VAIN} times and was lost soon after: it ends")
            raise error
        try:
            session.come_again(former)
            break
        except errors.Error as failed:
            if type(failed) not in (errors.PeerLost, errors.LinkBroken):  # Lost while rejoining.
                _say(f"could not come in again: {type(failed).__name__}: {failed}")
                raise error from failed
            _came.append(time.monotonic())
    _came.append(time.monotonic())
    _say(f"is in the job again, after {_came[-1] - began:.1f} s")


def between_steps(error):
    """As come_again(), for a program without a state: it continues where its steps are made. A
    program with a state goes back to the last commit."""
    return may_return(error) and not session.current().has_state


def _living(references):
    return [each for each in (one() for one in references) if each is not None]


def _say(words):
    print(f"stretto: this worker {words}", file=sys.stderr, flush=True)
