# SPDX-License-Identifier: Apache-2.0
"""The names under which the tensors of a wrapper travel. Servers keep each tensor that was ever
declared. So a wrapper takes over the names of an earlier wrapper of the same parameters and options
that every worker has dropped; otherwise it has names of its own. Workers drop wrappers at different
times: when they agree on a wrapper, each offers its free names, and names that all offer are taken.
"""

import weakref

import torch

from stretto.torch.core import agreement, exchange

_ROUNDS_BITS = 40
# Names that are free at this worker, by job and by description of the tensors.
_spares: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class WireScope:
    """The names of a wrapper. Thread: one at a time, but release() on any, and begin_round() on
    another thread than end_round().

    scope     its own names
    may_take  True: it may have the names of an earlier wrapper
    """

    def __init__(self, scope, may_take):
        self._own = scope
        self._may_take = may_take
        self._kind = 0  # Digest of describe().
        self._take_own()

    def _take_own(self):
        self._number = self._own.number
        self._held = {self._number: (self._own.prefix, 0)}  # By number, (prefix, rounds begun).
        self._free = {}  # Like _held: names that are free at this worker.
        self._begun = self._ended = 0
        self._agreement = None

    @property
    def prefix(self):
        """The prefix of the names. Known once all workers have agreed on the wrapper."""
        if self._agreement is not None:
            self._choose()
        return self._held[self._number][0]

    def begin_round(self):
        """A tensor of these names begins a round. Every worker calls it equally often."""
        prefix, rounds = self._held[self._number]
        self._held[self._number] = prefix, rounds + 1
        self._begun += 1

    def end_round(self):
        """A round has ended without an error."""
        self._ended += 1

    def follow(self):
        """The wrapper is used in another job, whose servers know no earlier names."""
        self._take_own()

    def describe(self, facts):
        """Describes the tensors by facts that do not depend on their values. Wrappers with equal
        facts can have the same names."""
        is_deterministic = torch.are_deterministic_algorithms_enabled()
        text = f"{self._own.kind} {is_deterministic} {sorted(facts.items())}"
        self._kind = exchange.digest_of(text)

    def offers(self, job):
        """Offers for an Agreement on the wrapper, which bind() gets next: names that are free at
        this worker in the job, for tensors as described. Offered names are free no longer. Empty in
        an elastic job: a joining worker knows no earlier names."""
        if not self._may_take or job.elastic:
            return []
        self._free = _spares.setdefault(job, {}).setdefault(self._kind, {})
        if self._number != self._own.number and self._begun != self._ended:
            del self._held[self._number]  # Its rounds may differ between workers.
            self._number = self._own.number
        # The newest first: some worker may still hold older names.
        room = agreement.MOST_OFFERS + 1 - len(self._held)
        for number in sorted(self._free, reverse=True)[:room]:
            self._held[number] = self._free.pop(number)
        return [number << _ROUNDS_BITS | rounds for number, (_, rounds) in self._held.items()
                if number != self._own.number]

    def bind(self, agreed):
        """Sets the agreement that has these offers."""
        self._agreement = agreed

    def _choose(self):
        taken, self._agreement = self._agreement.taken, None
        self._number = self._own.number if taken is None else taken >> _ROUNDS_BITS
        for number in set(self._held) - {self._number, self._own.number}:
            self._free[number] = self._held.pop(number)

    def release(self):
        """The wrapper is gone. Later wrappers may have its names if all its rounds have succeeded.
        Offers contain the number of rounds, which must be equal at all workers."""
        prefix, rounds = self._held[self._number]
        if self._agreement is None and rounds and self._begun == self._ended:
            self._free[self._number] = prefix, rounds
