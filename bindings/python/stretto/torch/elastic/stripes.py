# SPDX-License-Identifier: Apache-2.0
"""Transfer of replicated bytes from the members to joining workers: each giver sends some of the
pieces, and only the workers that lack them receive them.
"""

import bisect
import itertools

import torch

_PIECE = 1 << 23
_LEAST_PIECE = 1 << 12
_LAST = 1 - 2**31  # The priority below all other traffic.


def sizes_of(total):
    """Sizes of the pieces of a transfer of `total` bytes. The last one has one of few sizes, so
    that few tensors serve for all totals."""
    whole, rest = divmod(total, _PIECE)
    room = _LEAST_PIECE
    while room < rest:
        room *= 2
    return [_PIECE] * whole + ([room] if rest else [])


class _Row:
    # The bytes of some tensors, one after another.

    def __init__(self, tensors):
        self._tensors = tensors
        self._ends = list(itertools.accumulate(flat.numel() for flat in tensors))

    def piece(self, first, size):
        """A copy of `size` bytes from `first` on; zeros beyond the last tensor."""
        piece = torch.empty(size, dtype=torch.uint8)
        done = 0
        for index in range(bisect.bisect_right(self._ends, first), len(self._tensors)):
            flat, end = self._tensors[index], self._ends[index]
            low = first + done - (end - flat.numel())
            high = min(flat.numel(), low + size - done)
            piece[done:done + high - low] = flat[low:high].to("cpu")
            done += high - low
            if done == size:
                break
        piece[done:].zero_()
        return piece


class Stripes:
    """One transfer. All workers start it, with the same arguments except the last two.

    label    name of the pieces on the wire; one transfer of a label at a time
    total    bytes
    givers   seats, the same at all
    tensors  data of a giver, flat, as bytes; they may change after the constructor
    wants    this worker lacks them
    """

    def __init__(self, now, label, total, givers, tensors=(), wants=False):
        sizes = sizes_of(total)
        self._wants = wants
        self._total = total
        self._buffer = torch.empty(sum(sizes) if wants else 0, dtype=torch.uint8)
        self._tickets = []
        row = _Row(tensors)
        first = 0
        for index, size in enumerate(sizes):
            declared = now.declare(f"{label}.{size}.{index}", "u8", size)
            if not wants and givers[index % len(givers)] == now.seat:
                piece = row.piece(first, size)
                ticket = now.push(declared, (piece.data_ptr(), size), _LAST, piece)
            else:
                place = (self._buffer.data_ptr() + first, size) if wants else (0, 0)
                ticket = now.listen(declared, place, _LAST, self._buffer)
            self._tickets.append(ticket)
            first += size

    def done(self):
        """True once it has ended here."""
        return all(ticket.done() for ticket in self._tickets)

    def wait(self):
        """The bytes; None if a giver was lost before it had sent all of its own, and if no worker
        wants them."""
        for ticket in self._tickets:
            ticket.wait()
        if not self._wants or any(ticket.info().contributors != 1 for ticket in self._tickets):
            return None
        return self._buffer[:self._total]
