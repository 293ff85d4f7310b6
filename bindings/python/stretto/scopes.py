# SPDX-License-Identifier: Apache-2.0
"""Names of things of which a program may have several."""

from typing import NamedTuple


class Scope(NamedTuple):
    """What makes the names of a thing other than those of its like, and the same at all workers."""

    kind: str = ""
    number: int = 0
    prefix: str = ""
