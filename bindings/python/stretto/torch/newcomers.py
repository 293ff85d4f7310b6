# SPDX-License-Identifier: Apache-2.0
"""Workers that come into an elastic job while it runs: what they get from those who are in.

They come in at the begin of a step (Session.next_step), at which all who are in have the same
parameters, the same state of their optimizers, and nothing in flight. Each of them gives some of
the tensors; nothing is unpickled. If one of the givers is lost meanwhile all begin again.
"""

import re
from typing import Any, Dict, List, NamedTuple

from stretto import errors, session
from stretto.torch import agreement, broadcasting, exchange, objects

_LABEL = "Newcomers"
_IS_TRAINED = re.compile("trained [0-9]+/")


class Met(NamedTuple):
    """What came of a meeting."""

    seats: List[int]  # Of all who are in, by rank.
    rows: Dict[int, List[int]]  # What those who were in have told, by seat.
    is_new: bool  # This worker is one of those that came.
    old: int = 0
    new: int = 0


def begin_step(now):
    """A step of the program's begins: gives what newcomers need, or gets it. None if nobody has
    come."""
    if now.has_state:
        return None
    came = now.come_in() if now.is_new else now.next_step()
    if not came:
        return None
    wrapped = [optimizer for optimizer in (each() for each in now.optimizers)
               if optimizer is not None]
    return meet(now, came, (), _Training(now, wrapped))


class _Nothing:
    # What is given where the program does so itself.

    def described(self):
        """To begin with."""
        return None, []

    def templates(self, described):
        """For what comes."""
        del described
        return []

    def take(self, described, values):
        """What has come."""


class _Training:
    """The parameters, other tensors that were made alike, and the optimizers of a program."""

    def __init__(self, now, wrapped):
        self._wrapped = wrapped
        self._tensors = {}
        seen = set()
        trained = ((f"trained {index}/{name}", parameter.detach())
                   for index, each in enumerate(wrapped)
                   for parameter, name in each._stretto_exchange.names.items())
        for key, tensor in (*trained, *now.alike.items()):
            if tensor.numel() and tensor.data_ptr() not in seen:
                seen.add(tensor.data_ptr())
                self._tensors[key] = tensor

    def described(self):
        """What there is, in words, and its tensors."""
        tensors = list(self._tensors.values())
        optimizers = []
        for each in self._wrapped:
            each._stretto_settle()
            state = broadcasting.state_by_label(each)
            watch = each._stretto_watch
            optimizers.append({"state": broadcasting.without_tensors(state, tensors),
                               "layouts": each._stretto_exchange.layouts,
                               "steps": 0 if watch is None else watch.steps})
        return {"tensors": broadcasting.without_tensors(self._tensors, []),
                "optimizers": optimizers}, tensors

    def templates(self, described):
        """Tensors such as will come. Mismatch if they are of another program."""
        tensors = []
        theirs = broadcasting.with_tensors(described["tensors"], tensors)
        found = {key: agreement.fact_of(tensor) for key, tensor in theirs.items()
                 if key in self._tensors or _IS_TRAINED.match(key)}
        mine = {key: agreement.fact_of(tensor) for key, tensor in self._tensors.items()
                if key in theirs or _IS_TRAINED.match(key)}
        if found != mine or len(described["optimizers"]) != len(self._wrapped):
            raise errors.Mismatch(
                "this worker comes into a job that trains something else: "
                + (agreement.difference(mine, found)
                   or f"there are {len(described['optimizers'])} optimizers"),
                operation="join")
        for each in described["optimizers"]:
            each["state"] = broadcasting.with_tensors(each["state"], tensors)
        return tensors

    def take(self, described, values):
        """Makes this worker as the others are. A backward that has begun goes on by these values,
        and what it brings is not used."""
        for key, value in zip(described["tensors"], values):
            if key in self._tensors:  # Others may have made more alike since they began.
                self._tensors[key].data.copy_(value)
        rest = iter(values[len(described["tensors"]):])
        for each, told in zip(self._wrapped, described["optimizers"]):
            broadcasting.load_by_label(each, broadcasting.filled(told["state"], rest))
            each._stretto_exchange.follow_others(told["layouts"])
            if each._stretto_watch is not None:
                each._stretto_watch.steps = told["steps"]


def meet(now, came, mine, given=None):
    """The workers that came, so many, and those who are in call it at the same step: they agree on
    seats, those who are in tell `mine`, whole numbers, and give what `given` describes."""
    given = given or _Nothing()
    is_new = now.seat is None
    here = exchange.attendance(_LABEL, mine)
    while True:
        givers = [] if is_new else now.in_order(here)
        found = _exchange(now, given, givers, came, is_new)
        rows = exchange.attendance(_LABEL, mine)
        if found is not None and set(found.givers) <= set(rows):
            break
        here = rows
    taken = found.seats[len(found.givers):]
    if is_new:
        index = min(max(0, now.present_rank - (now.present - came)), len(taken) - 1)
        now.take_seats(found.seats, taken[index])
        given.take(found.described, found.values)
    else:
        now.take_seats(found.seats)
    if now.seats_in is not None or is_new and found.agreed:
        now.agree_on(found.seats)
    return Met(found.seats, rows, is_new, len(found.givers), len(taken))


class _Found(NamedTuple):
    givers: List[int]
    seats: List[int]
    agreed: bool
    described: Any
    values: List[Any]


def _exchange(now, given, givers, came, is_new):
    # None at a newcomer that was told nothing, as who told was lost.
    told, tensors = b"", []
    if not is_new:
        described, tensors = given.described()
        free = [seat for seat in range(now.seats) if seat not in givers]
        told = {"givers": givers, "seats": givers + free[:came],
                "agreed": now.seats_in is not None, "described": described}
    data = broadcasting.bytes_from(told, not is_new and givers[0] == now.seat, 0, _LABEL)
    if is_new:
        try:
            told = objects.decode(data)
        except ValueError:
            return None
        tensors = given.templates(told["described"])
    givers = told["givers"]
    begun = []
    for index, tensor in enumerate(tensors):
        flat = tensor.detach().to("cpu").contiguous()
        gives = not is_new and givers[index % len(givers)] == now.seat
        begun.append(exchange.begin_copy(flat, 0, gives,
                                         f"{_LABEL}.{index}.{agreement.fact_of(tensor)}"))
    values = [handle.wait() for handle in begun]
    return _Found(givers, told["seats"], told["agreed"], told["described"], values)
