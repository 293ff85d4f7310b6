# SPDX-License-Identifier: Apache-2.0
"""Coming again to an elastic job that has lost this worker, though its process lives: its link was
away for longer than STRETTO_DEAD_AFTER_S, or it was stopped. The others have gone on meanwhile. The
process comes in as a newcomer does, before a step, and gets what the others have.
"""

import sys
import time
from typing import List

from stretto import errors, session

# A link that passes little, such as a hello, and no data lets a worker come in and be lost again;
# each time all others wait for it.
_MOST_IN_VAIN = 3
_IN_VAIN_S = 10.0  # Who is lost so soon after it came again has come in vain.

_came: List[float] = []  # When, each time in vain but perhaps the last.


def may_return(error):
    """True if the error says that the job goes on without this worker, which can come again."""
    return (isinstance(error, errors.Error) and session.is_initialized()
            and session.current().lost_as != 0)


def come_again(error):
    """Joins the job again, in the place of the worker that this process was. Waits as long for the
    link as who begins waits for others. Raises `error`, by which the program has heard of it, if
    the job is over, has no place left, or has lost this worker several times in a row soon after
    it came."""
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
            if type(failed) not in (errors.PeerLost, errors.LinkBroken):  # Lost again, on its way.
                _say(f"could not come in again: {type(failed).__name__}: {failed}")
                raise error from failed
            _came.append(time.monotonic())
    _came.append(time.monotonic())
    _say(f"is in the job again, after {_came[-1] - began:.1f} s")


def between_steps(error):
    """The same, of a program without a state: it goes on where its steps are made. One that has a
    state goes back to what was committed."""
    return may_return(error) and not session.current().has_state


def _living(references):
    return [each for each in (one() for one in references) if each is not None]


def _say(words):
    print(f"stretto: this worker {words}", file=sys.stderr, flush=True)
