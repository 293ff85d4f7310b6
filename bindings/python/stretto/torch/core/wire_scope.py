# SPDX-License-Identifier: Apache-2.0
"""Under which names the tensors of a wrapper travel. Servers keep each tensor that was ever
declared, so a wrapper takes over the names of an earlier one of the same parameters and options
that every worker has dropped; otherwise it has names of its own. Workers drop at different times:
each offers what it has, when they agree on the wrapper, and what all of them offer is taken.
"""

import weakref

import torch

from stretto.torch.core import agreement, exchange

_ROUNDS_BITS = 40
# By job, and by what tensors are: names that are free here.
_spares: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class WireScope:
    """The names of a wrapper. Thread: one at a time, but release() on any, and begin_round() on
    another thread than end_round().

    scope     its own
    may_take  it may have those of an earlier one
    """

    def __init__(self, scope, may_take):
        self._own = scope
        self._may_take = may_take
        self._kind = 0  # As described.
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
        """A tensor of these names has a round more. Every worker calls it as often."""
        prefix, rounds = self._held[self._number]
        self._held[self._number] = prefix, rounds + 1
        self._begun += 1

    def end_round(self):
        """A round has ended well."""
        self._ended += 1

    def follow(self):
        """The wrapper is used in another job, whose servers know no earlier names."""
        self._take_own()

    def describe(self, facts):
        """Tells what the tensors are, by facts that do not depend on their values. Wrappers with
        equal facts can have the same names."""
        is_deterministic = torch.are_deterministic_algorithms_enabled()
        text = f"{self._own.kind} {is_deterministic} {sorted(facts.items())}"
        self._kind = exchange.digest_of(text)

    def offers(self, job):
        """What an Agreement on the wrapper is given, which bind() is told of: names that are free
        at this worker in the job, of tensors as described. They are free no longer. None in an
        elastic job: a newcomer knows of no earlier names."""
        if not self._may_take or job.elastic:
            return []
        self._free = _spares.setdefault(job, {}).setdefault(self._kind, {})
        if self._number != self._own.number and self._begun != self._ended:
            del self._held[self._number]  # Its rounds are not equal everywhere.
            self._number = self._own.number
        # The newest first: what is older may be kept by some worker.
        room = agreement.MOST_OFFERS + 1 - len(self._held)
        for number in sorted(self._free, reverse=True)[:room]:
            self._held[number] = self._free.pop(number)
        return [number << _ROUNDS_BITS | rounds for number, (_, rounds) in self._held.items()
                if number != self._own.number]

    def bind(self, agreed):
        """Tells which agreement these offers are for."""
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
