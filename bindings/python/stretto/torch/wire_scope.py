# SPDX-License-Identifier: Apache-2.0
"""Under which names the tensors of a wrapper travel. Servers keep each tensor that was ever
declared, so a wrapper takes over the names of an earlier one of the same parameters and options
that every worker has dropped; otherwise it has names of its own. Workers drop at different times:
each offers what it has, when they agree on the wrapper, and what all of them offer is taken.
"""

import weakref

import torch

from stretto.torch import agreement, exchange

_ROUNDS_BITS = 40
# By job, and by what tensors are: names that are free here.
_spares: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class WireScope:
    """The names of one wrapper. Thread: one at a time, release() any, and rounds may be begun on
    another one than they end.

    scope     its own
    may_take  it may have those of an earlier one
    """

    def __init__(self, scope, may_take):
        self._own = scope
        self._may_take = may_take
        self._take_own()

    def _take_own(self):
        self._number = self._own.number
        self._held = {self._number: (self._own.prefix, 0)}  # By number, (prefix, rounds begun).
        self._free = {}  # As _held, what is free at this worker.
        self._begun = self._ended = 0
        self._agreement = None

    @property
    def prefix(self):
        """What the names begin with. Known once all workers have agreed on the wrapper."""
        if self._agreement is not None:
            self._choose()
        return self._held[self._number][0]

    def begin_round(self):
        """A tensor of these names has a round more, here and at all other workers."""
        prefix, rounds = self._held[self._number]
        self._held[self._number] = prefix, rounds + 1
        self._begun += 1

    def end_round(self):
        """One has ended well."""
        self._ended += 1

    def follow(self):
        """The wrapper is used in another job, whose servers know no names of before."""
        self._take_own()

    def offers(self, job, facts):
        """What an Agreement on the wrapper is given, which bind() is told of: names that are free
        at this worker in the job, of tensors of which all that is known are these facts. They are
        free no longer. None in an elastic job: who comes later knows of no names of before."""
        if not self._may_take or job.elastic:
            return []
        is_deterministic = torch.are_deterministic_algorithms_enabled()
        kind = f"{self._own.kind} {is_deterministic} {sorted(facts.items())}"
        self._free = _spares.setdefault(job, {}).setdefault(exchange.digest_of(kind), {})
        if self._number != self._own.number and self._begun != self._ended:
            del self._held[self._number]  # Nobody can go on there.
            self._number = self._own.number
        # The newest first: what is older may be kept by some worker.
        room = agreement.MOST_OFFERS + 1 - len(self._held)
        for number in sorted(self._free, reverse=True)[:room]:
            self._held[number] = self._free.pop(number)
        return [number << _ROUNDS_BITS | rounds for number, (_, rounds) in self._held.items()
                if number != self._own.number]

    def bind(self, agreed):
        """The agreement that these offers are for."""
        self._agreement = agreed

    def _choose(self):
        taken, self._agreement = self._agreement.taken, None
        self._number = self._own.number if taken is None else taken >> _ROUNDS_BITS
        for number in set(self._held) - {self._number, self._own.number}:
            self._free[number] = self._held.pop(number)

    def release(self):
        """The wrapper is gone, and others may have its names if all rounds have ended well. That
        every worker has begun as many shows when they offer them."""
        prefix, rounds = self._held[self._number]
        if self._agreement is None and rounds and self._begun == self._ended:
            self._free[self._number] = prefix, rounds
