# SPDX-License-Identifier: Apache-2.0
"""Agreement of all workers, checked before any exchange by names that only some of them use:
otherwise workers would wait for data that no worker sends, and a name used by one worker alone is
no error until a timeout.
"""

import json
import re

import torch

from stretto import errors, session
from stretto.torch.core import exchange

_MOST_TOLD = 3
CALL = "the call"
"""The fact that says which call a worker makes: workers that differ in it have nothing else to
compare."""

MOST_OFFERS = 4
"""The most numbers that a worker can offer in an agreement."""

_VALUES = "the values of "
_SUMMED = 1 << 20  # Elements at a time.
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

_ABSENT = (0, 0)  # The sum of a paused worker; no text is empty.
_NUMBER = re.compile("([0-9]+)")


def in_order(named):
    """Pairs (name, anything), sorted by name, so that all workers have one order; "layer2" comes
    before "layer10", because neighbours by name are mostly used one after another. All names
    differ."""

    def key(pair):
        pieces = _NUMBER.split(pair[0])
        pieces[1::2] = map(int, pieces[1::2])
        return pieces, pair[0]

    return sorted(named, key=key)


def fact_of(tensor):
    """The facts of a tensor on which workers must agree."""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def values_of(named):
    """The values of (name, tensor), as facts: sums of their bits, taken where the tensors are,
    which differ unless two tensors have the same bits in another order."""
    sums = [_sum_of_bits(tensor.detach()) for _, tensor in named]
    return {f"{_VALUES}'{name}'": f"{int(each):x}" for (name, _), each in zip(named, sums)}


def _sum_of_bits(tensor):
    # In pieces, as a sum in another type needs a copy in that type.
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    bits = tensor.reshape(-1).view(_INTEGERS[tensor.element_size()])
    return sum(piece.sum(dtype=torch.int64) for piece in bits.split(_SUMMED))


def _told_values(keys):
    names = ", ".join(key.removeprefix(_VALUES) for key in keys[:_MOST_TOLD])
    more = f" and {len(keys) - _MOST_TOLD} more" if len(keys) > _MOST_TOLD else ""
    return (f"{_VALUES}{names}{more} differ before the first step; call "
            "broadcast_parameters(model.state_dict(), root_rank=0) at all workers before that, or "
            "set STRETTO_CHECK_VALUES=0 if they are to differ")


def _told(key, mine, theirs):
    if theirs is None:
        return f"{key} ({mine}) is not there"
    if mine is None:
        return f"{key} ({theirs}) is not here"
    return f"{key} is {mine} here and {theirs} there"


def difference(mine, theirs):
    """The difference between the others' facts and ours, in words."""
    if CALL in mine and CALL in theirs and mine[CALL] != theirs[CALL]:
        return _told(CALL, mine[CALL], theirs[CALL])
    differing = [key for key, _ in in_order((mine | theirs).items())
                 if mine.get(key) != theirs.get(key)]
    if differing and all(key.startswith(_VALUES) for key in differing):
        if not all(key in mine and key in theirs for key in differing):
            return "values are compared at one of them only: set STRETTO_CHECK_VALUES alike"
        return _told_values(differing)
    differing = [key for key in differing if not key.startswith(_VALUES)]
    told = [_told(key, mine.get(key), theirs.get(key)) for key in differing[:_MOST_TOLD]]
    if len(differing) > len(told):
        told.append(f"and {len(differing) - len(told)} more differ")
    return "; ".join(told)


def object_in(text):
    """The JSON object in a text of another worker, as a dict; Malformed for other texts."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise errors.Malformed(f"a worker told what it has as no JSON: {error}") from error
    if not isinstance(found, dict):
        raise errors.Malformed("a worker told what it has as no JSON object")
    return found


def checked_facts(facts):
    """The facts of another worker; Malformed unless they are texts by text."""
    if not isinstance(facts, dict) or not all(isinstance(fact, str) for fact in facts.values()):
        raise errors.Malformed("a worker told what it has otherwise than as texts by text")
    return facts


class Agreed:
    """A previous agreement."""

    def done(self):
        """True."""
        return True

    def wait(self):
        """Returns immediately."""


class Agreement:
    """An agreement on one subject. It starts at once. Thread: one at a time.

    name       on the wire: the same everywhere, whatever the workers have
    what       in words
    facts      must be equal everywhere; texts by text, in any order
    operation  for the error: the user's call
    of_all     every worker must take part; else paused workers may be absent
    offers     up to MOST_OFFERS numbers from 1, of which the greatest that every worker offers is
               taken
    """

    def __init__(self, name, what, facts, operation, of_all=True, offers=()):
        now = session.current()
        self._name = name
        self._what = what
        self._facts = facts
        self._operation = operation
        self._seat = now.seat
        # Lost workers of an elastic job send nothing either.
        self._of_all = of_all and not now.elastic
        self._failed = None
        text = json.dumps(facts, sort_keys=True)
        self.digest = exchange.digest_of(text)
        self._text = text.encode("utf-8")
        self.taken = None  # Known after wait().
        row = [self.digest, len(self._text), *offers]
        numbers = torch.zeros(now.seats, 2 + MOST_OFFERS, dtype=torch.int64)
        numbers[now.seat, :len(row)] = torch.tensor(row)
        self._handle = exchange.begin(numbers, numbers, f"Agreement.{name}", False, 0)

    def done(self):
        """True once the result is known; then wait() returns or raises immediately, or after a
        comparison that all take part in."""
        return self._handle.done()

    def wait(self):
        """Waits for all workers. Raises Mismatch, at each of them, unless all facts are equal."""
        found = self._handle.wait().tolist()
        self.taken = max(set.intersection(*(set(row[2:]) for row in found)), default=0) or None
        rows = [tuple(row[:2]) for row in found]
        if self._failed is None and any(row != rows[self._seat] for row in rows):
            self._failed = self._compared(rows)
        self._facts = self._text = None
        if self._failed is not None:
            raise errors.Mismatch(self._failed, operation=self._operation)

    def _compared(self, rows):
        # A participant's row is not 0; a paused worker adds zeros.
        here = [rank for rank, row in enumerate(rows) if row != _ABSENT]
        # The rows of the first worker, and of the next that differs, are enough for the error.
        first = here[0]
        other = next((rank for rank in here if rows[rank] != rows[first]), None)
        if other is None:
            return self._absence(rows)
        texts = {rank: self._text_of(rank, rows[rank]) for rank in (first, other)}
        who = first if rows[self._seat] != rows[first] else other
        words = difference(self._facts, checked_facts(object_in(texts[who])))
        return (f"worker {who} has other {self._what} than we, worker {self._seat}: {words}. "
                "All workers need the same, in whatever order")

    def _absence(self, rows):
        # After differences, in which all present workers have to take part.
        absent = next((rank for rank, row in enumerate(rows) if row == _ABSENT), None)
        if absent is None or not self._of_all:
            return None
        return (f"worker {absent} sits out until all workers have called join(), and takes part in "
                "sums only")

    def _text_of(self, rank, row):
        digest, length = row
        # By a sum, in which paused workers can take part, too.
        text = torch.zeros(length, dtype=torch.uint8)
        if rank == self._seat:
            text = torch.frombuffer(bytearray(self._text), dtype=torch.uint8)
        name = f"Agreement.{self._name}.{rank}.{digest:x}.{length}"
        return exchange.begin(text, text, name, False, 0).wait().numpy().tobytes()
