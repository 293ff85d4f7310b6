# SPDX-License-Identifier: Apache-2.0
"""Coming again to an elastic job that has lost this worker, though its process lives: its link was
away for longer than STRETTO_DEAD_AFTER_S, or it was stopped. The others have gone on meanwhile. The
process comes in as a newcomer does, before a step, and gets what the others have.
"""

import sys
import time

from stretto import errors, session


def may_return(error):
    """True if the error says that the job goes on without this worker, which can come again."""
    return (isinstance(error, errors.Error) and session.is_initialized()
            and session.current().lost_as != 0)


def come_again(error):
    """Joins the job again, in the place of the worker that this process was. Waits as long for the
    link as who begins waits for others. Raises `error`, by which the program has heard of it, if
    the job is over, or has no place left."""
    before, began = session.current(), time.monotonic()
    _say(f"is lost to its job, and tries to come in again: {error.cause}")
    wrapped = (*_living(before.optimizers), *_living(before.apart))
    exchanges = [each._stretto_exchange for each in wrapped]
    for exchange in (*exchanges, *_living(before.modules)):
        exchange.forget_step()
    try:
        session.come_again()
    except errors.Error as failed:
        _say(f"could not come in again: {failed}")
        raise error from failed
    _say(f"is in the job again, after {time.monotonic() - began:.1f} s")


def between_steps(error):
    """The same, of a program without a state: it goes on where its steps are made. One that has a
    state goes back to what was committed."""
    return may_return(error) and not session.current().has_state


def _living(references):
    return [each for each in (one() for one in references) if each is not None]


def _say(words):
    print(f"stretto: this worker {words}", file=sys.stderr, flush=True)
