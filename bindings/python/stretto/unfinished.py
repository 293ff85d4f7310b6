# SPDX-License-Identifier: Apache-2.0
"""Calls that an exception of the program, such as one of a signal handler, ends before the exchange
has ended. Peers have completed the call and this worker has not, so that its later calls would be
matched one call off. The session refuses them.
"""

import functools
from typing import Any, Callable, TypeVar, cast

from stretto import errors, session

# Errors of bad arguments and of failed exchanges: calls still match.
_ORDINARY = (errors.Error, TypeError, ValueError, AssertionError)
_OF_PROGRAM = "_stretto_of_program"
_REFUSED = "_stretto_refused"  # Errors of calls within a running call; None: no call runs.

_Function = TypeVar("_Function", bound=Callable[..., Any])


def whole(operation: str, always: bool = False) -> Callable[[_Function], _Function]:
    """Decorates a function that exchanges with peers. If an exception of the program ends a call
    that has begun an exchange, the session refuses later calls by Cancelled, which names
    `operation`. With `always` the call ends exchanges that began before it."""

    def decorate(function):
        @functools.wraps(function)
        def guarded(*arguments, **options):
            now = session.current() if session.is_initialized() else None
            if now is not None:
                now.check_usable()
            begun = 0 if now is None else now.begun
            try:
                return function(*arguments, **options)
            except _ORDINARY:
                raise
            except BaseException as error:
                if not hasattr(error, _OF_PROGRAM):
                    _refuse_more(operation, -1 if always else begun, error)
                raise

        return guarded

    return cast(Callable[[_Function], _Function], decorate)


def alone(operation: str, waits: bool = True) -> Callable[[_Function], _Function]:
    """Decorates a method like whole() with `always`. While a method of an object that `waits` is in
    progress, its other such methods raise InvalidArgument: a call by a signal handler or another
    thread would change the waiting exchange. If that error also ends the call in progress, the
    session refuses later calls."""

    def decorate(function):
        protected = whole(operation, always=True)(function)

        @functools.wraps(function)
        def guarded(self, *arguments):
            refused = getattr(self, _REFUSED, None)
            if refused is not None:
                refused.append(errors.InvalidArgument(
                    f"{operation} waits in another call; set a flag in the handler of a signal, "
                    "and look at it after the step", operation=function.__name__))
                raise refused[-1]
            if not waits:
                return protected(self, *arguments)
            refused = []
            setattr(self, _REFUSED, refused)
            try:
                return protected(self, *arguments)
            except errors.InvalidArgument as error:
                if any(each is error for each in refused):
                    _refuse_more(operation, -1, error)
                raise
            finally:
                setattr(self, _REFUSED, None)
                refused.clear()  # Each error refers to the frames of its call.

        return guarded

    return cast(Callable[[_Function], _Function], decorate)


def is_waiting(exchange: Any) -> bool:
    """True while a method of this object that alone() decorates is in progress."""
    return getattr(exchange, _REFUSED, None) is not None


def of_program(closure: _Function) -> _Function:
    """The closure of a program. An Exception of the closure is the program's decision, and the
    session refuses nothing after it."""

    @functools.wraps(closure)
    def marked(*arguments, **options):
        try:
            return closure(*arguments, **options)
        except Exception as error:
            setattr(error, _OF_PROGRAM, True)
            raise

    return cast(_Function, marked)


def is_refused() -> bool:
    """True if the session refuses later calls."""
    return session.is_initialized() and session.current().refusal is not None


def _refuse_more(operation, begun, error):
    now = session.current() if session.is_initialized() else None
    if now is not None and now.begun not in (0, begun) and now.refusal is None:
        now.refusal = (f"{operation} was ended by {type(error).__name__} before its exchange had "
                       "ended, so that this worker's calls no longer match those of the others; "
                       "end this process")


class Once:
    """Completes a result once. After an exception in `finish` there is no result."""

    def __init__(self, finish):
        self._finish = finish
        self._has_begun = False

    def __call__(self):
        if self._has_begun:
            raise errors.Cancelled("an exception of the program's own ended the call that "
                                   "completed this result; end this process")
        self._has_begun = True
        return self._finish()
