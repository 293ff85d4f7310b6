# SPDX-License-Identifier: Apache-2.0
"""Functions that the session calls, with itself, after it has joined a job and after it has left
one."""

from typing import Any, Callable, List

_followers: List[Callable[[Any], None]] = []


def add(follow):
    """The session calls `follow` from now on."""
    _followers.append(follow)


def tell(now):
    """The session `now` has joined or left."""
    for follow in _followers:
        follow(now)
