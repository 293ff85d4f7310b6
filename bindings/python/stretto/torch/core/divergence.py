# SPDX-License-Identifier: Apache-2.0
"""Periodic check that all workers still have the same parameters: a memory bit flip, or a library
that computes differently on one host, shows in no exchange.

A digest of the parameters travels while the next step computes, and is compared after it.
"""

import collections
import sys
import zlib

import torch

from stretto import errors, session, unfinished
from stretto.torch.core import agreement, broadcasting, exchange, wire

CHOICES = ("raise", "refill")
_MOST_TOLD = 3


def _checksum(tensor):
    data = wire.as_bytes(tensor.detach().to("cpu").contiguous())
    return zlib.crc32(data.numpy())


def _listed(words):
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


class Watch:
    """The check of one optimizer in mode sync. All workers step it alike.

    named    (name, parameter) of the trained parameters
    every    steps between two checks
    choice   action if some differ: "raise" Diverged at all workers; or "refill" them, with the
             parameters and the optimizer's state of a worker of the majority
    label    the same at all workers, and unique per optimizer
    """

    def __init__(self, named, every, choice, label):
        self._named = agreement.in_order(named)
        self._every = every
        self._choice = choice
        self._label = label
        self._session = None
        self.steps = 0  # Made by all workers.
        self._step = 0  # The step of the digests in flight,
        self._handle = None
        self._checksums = []

    @unfinished.whole("the comparison of digests", always=True)
    def after_step(self, optimizer):
        """Compares the digests sent after the previous step, and sends new ones if due."""
        now = session.current()
        if now.alone:
            return
        if self._session is not now:
            self._session, self._handle = now, None
        if self._handle is not None:
            rows, self._handle = self._handle.wait()[:, 0].tolist(), None
            digests = {seat: digest for seat, digest in enumerate(rows) if digest}
            if len(set(digests.values())) > 1:
                self._end(digests, optimizer)
        self.steps += 1
        if self.steps % self._every == 0:
            self._begin(now)

    def _begin(self, now):
        self._step = self.steps
        self._checksums = [_checksum(parameter) for _, parameter in self._named]
        digests = torch.zeros(now.seats, 1, dtype=torch.int64)
        if not now.listens:  # Otherwise it lacks parameters that the others have.
            digests[now.seat, 0] = exchange.digest_of(repr(self._checksums)) or 1  # 0: none.
        self._handle = exchange.begin(digests, digests, f"Digest.{self._label}", False, 0)

    def _end(self, digests, optimizer):
        # All workers get here, as they have the same digests.
        counts = collections.Counter(digests.values())
        first = {digest: seat for seat, digest in reversed(digests.items())}
        right = max(counts, key=lambda digest: (counts[digest], -first[digest]))
        odd = [seat for seat, digest in digests.items() if digest != right]
        rows = exchange.attendance(f"Digest.{self._label}", self._checksums)
        differing = [name for index, (name, _) in enumerate(self._named)
                     if len({row[index] for seat, row in rows.items() if seat in digests}) > 1]
        most = "" if counts[right] * 2 > len(digests) else ", which most do not share,"
        text = (f"after step {self._step} {_listed([f'worker {seat}' for seat in odd])} "
                f"{'has' if len(odd) == 1 else 'have'} other parameters than worker "
                f"{first[right]}{most} though all have made the same steps: "
                + ", ".join(f"'{name}'" for name in differing[:_MOST_TOLD])
                + (f" and {len(differing) - _MOST_TOLD} more" if len(differing) > _MOST_TOLD
                   else ""))
        if self._choice == "raise":
            raise errors.Diverged(text, operation="digest", peer=f"worker {odd[0]}")
        # The root's rank among the members.
        here = session.current().in_order(exchange.attendance(f"Refill.{self._label}"))
        if first[right] not in here:
            raise errors.Diverged(f"{text}; worker {first[right]} is lost since",
                                  operation="digest", peer=f"worker {odd[0]}")
        root = here.index(first[right])
        if session.current().seat == first[right]:
            print(f"stretto: {text}; they get those of worker {first[right]}", file=sys.stderr,
                  flush=True)
        broadcasting.broadcast_parameters(self._named, root, f"Refill.{self._label}.")
        broadcasting.broadcast_optimizer_state(optimizer, root, f"Refill.{self._label}.")
