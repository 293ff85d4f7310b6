# SPDX-License-Identifier: Apache-2.0
"""Rounds among workers that end before all have contributed: what is given as exchange=, in place
of the name of a way (docs/COLLECTIVES.md)."""

import dataclasses
from typing import Union


@dataclasses.dataclass(frozen=True)
class Quorum:
    """By exchange direct, and so many workers' contributions may end a round, once the others are
    late beside what is usual. A late one counts, by `late`, in the "next" round, in its worker's
    "own" next contribution, or nowhere ("drop"). All are waited for until it is known what is
    usual (some eight rounds); later who is more than three rounds behind is, and with "own" who
    has kept back three contributions. Means are over the contributions that are in. What is late
    for the last rounds of a job is lost."""
    workers: int
    late: str = "next"

    def __post_init__(self):
        _check_whole("workers", self.workers)
        if self.late not in ("next", "own", "drop"):
            raise ValueError(f"late is {self.late!r}, wanted next, own or drop")

    def __str__(self):
        return f"direct, quorum {self.workers}, late {self.late}"


@dataclasses.dataclass(frozen=True)
class Backups:
    """By exchange direct, where so many spare workers have the same data as another one: those
    whose ranks are equal modulo size() / (spare + 1), so that many is what data are divided by. In
    each round the first of them counts, and the others are not waited for until they are more than
    three rounds behind."""
    spare: int = 1

    def __post_init__(self):
        _check_whole("spare", self.spare)

    def __str__(self):
        return f"direct, {self.spare} backups"


Exchange = Union[str, Quorum, Backups, None]
"""What exchange= takes: the name of a way, rounds that may end early, or None, the job's usual
way."""


def _check_whole(what, number):
    if isinstance(number, bool) or not isinstance(number, int) or not 0 < number < 4096:
        raise ValueError(f"{what} is {number!r}, wanted a whole number from 1 to 4095")


def is_one(exchange):
    """True unless it is the name of a way, or None."""
    return isinstance(exchange, (Quorum, Backups))


def options_of(exchange):
    """What Worker.declare() is given for it, or for the name of a way."""
    if isinstance(exchange, Quorum):
        return {"exchange": "direct", "quorum": exchange.workers, "late": exchange.late}
    if isinstance(exchange, Backups):
        return {"exchange": "direct", "backups": exchange.spare}
    return {"exchange": exchange}
