# SPDX-License-Identifier: Apache-2.0
"""Rounds that end before all workers have contributed: passed as exchange=, in place of the name of
a strategy (docs/COLLECTIVES.md)."""

import dataclasses
from typing import Union


@dataclasses.dataclass(frozen=True)
class Quorum:
    """By exchange direct; a round may end with this number of contributions once the others are
    late compared with their usual delay. A late contribution counts, by `late`, in the "next"
    round, in its worker's "own" next contribution, or nowhere ("drop"). Rounds wait for all workers
    until the usual delay is known (about eight rounds); later they wait for a worker that is more
    than three rounds behind, or with "own" has withheld three contributions. Means are over the
    contributions included. Late contributions to the last rounds of a job are lost."""
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
    """By exchange direct, with `spare` workers that have the same data as another worker: those
    whose ranks are equal modulo size() / (spare + 1), which is the number of data shards. In each
    round the first contribution of them counts; a round waits for the others only once they are
    more than three rounds behind."""
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
    """True unless it is the name of a strategy, or None."""
    return isinstance(exchange, (Quorum, Backups))


def options_of(exchange):
    """The options of Worker.declare() for it, or for the name of a strategy."""
    if isinstance(exchange, Quorum):
        return {"exchange": "direct", "quorum": exchange.workers, "late": exchange.late}
    if isinstance(exchange, Backups):
        return {"exchange": "direct", "backups": exchange.spare}
    return {"exchange": exchange}
