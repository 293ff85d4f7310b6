# SPDX-License-Identifier: Apache-2.0
"""Warnings that point at the user's line, at any depth of calls below it."""

import sys
import warnings

_NOT_THE_USERS = ("stretto", "byteps", "torch")


def _level():
    # The level of the innermost frame outside the packages between us and the user, as
    # warnings.warn() counts it in warn(). Hooks run below torch.
    level, frame = 1, sys._getframe(1)  # pylint: disable=protected-access
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _NOT_THE_USERS:
            return level
        level, frame = level + 1, frame.f_back
    return 2  # A thread of torch has no line of the user's.


def warn(text, category=RuntimeWarning):
    """Like warnings.warn(), at the user's line."""
    warnings.warn(text, category, stacklevel=_level())
