# SPDX-License-Identifier: Apache-2.0
"""Warnings that point at the user's line, however deep below it they are found."""

import sys
import warnings

_NOT_THE_USERS = ("stretto", "byteps", "torch")


def _level():
    # Of the innermost frame that is of no package between us and the user, as warnings.warn()
    # counts in warn(): hooks run below torch.
    level, frame = 1, sys._getframe(1)  # pylint: disable=protected-access
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _NOT_THE_USERS:
            return level
        level, frame = level + 1, frame.f_back
    return 2  # A thread of torch's own: there is no line of the user's.


def warn(text, category=RuntimeWarning):
    """As warnings.warn(), at the user's line."""
    warnings.warn(text, category, stacklevel=_level())
