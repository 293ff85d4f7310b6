# SPDX-License-Identifier: Apache-2.0
"""Unique names for objects of which a program may have several."""

from typing import NamedTuple


class Scope(NamedTuple):
    """Makes the names of an object unique in a program, and equal at all workers."""

    kind: str = ""
    number: int = 0
    prefix: str = ""
