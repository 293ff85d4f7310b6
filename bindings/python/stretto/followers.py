# SPDX-License-Identifier: Apache-2.0
"""Functions that the session calls, with itself as argument, after it joins or leaves a job."""

from typing import Any, Callable, List

_followers: List[Callable[[Any], None]] = []


def add(follow):
    """The session calls `follow` from now on."""
    _followers.append(follow)


def tell(now):
    """Calls the functions: the session `now` has joined or left a job."""
    for follow in _followers:
        follow(now)
