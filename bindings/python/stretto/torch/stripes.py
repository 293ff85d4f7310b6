# SPDX-License-Identifier: Apache-2.0
"""Bytes that all who are in have alike, brought to newcomers: each giver sends some of the pieces,
nobody else sends any, and only who lacks them gets them.
"""

import torch

_PIECE = 1 << 21
_LEAST_PIECE = 1 << 12
_LAST = 1 - 2**31  # The priority of what may wait for everything else.


def sizes_of(total):
    """Of the pieces that so many bytes travel in. The last one is of few sizes, so that few tensors
    serve for all totals."""
    whole, rest = divmod(total, _PIECE)
    room = _LEAST_PIECE
    while room < rest:
        room *= 2
    return [_PIECE] * whole + ([room] if rest else [])


def _piece_of(tensors, first, size):
    # A copy of these bytes of the tensors, which lie one after the other.
    piece = torch.zeros(size, dtype=torch.uint8)
    begin = 0
    for flat in tensors:
        low, high = max(first, begin), min(first + size, begin + flat.numel())
        if low < high:
            piece[low - first:high - first] = flat[low - begin:high - begin].to("cpu")
        begin += flat.numel()
    return piece


class Stripes:
    """One transfer. All workers begin it, with the same arguments but for the last two.

    label    what the pieces are called on the wire; one transfer of a label at a time
    total    bytes
    givers   seats, the same at all
    tensors  that a giver sends, flat, as bytes; they may change once this has returned
    wants    this worker lacks them
    """

    def __init__(self, now, label, total, givers, tensors=(), wants=False):
        sizes = sizes_of(total)
        self._wants = wants
        self._total = total
        self._buffer = torch.empty(sum(sizes) if wants else 0, dtype=torch.uint8)
        self._tickets = []
        first = 0
        for index, size in enumerate(sizes):
            declared = now.declare(f"{label}.{size}.{index}", "u8", size)
            if not wants and givers[index % len(givers)] == now.seat:
                piece = _piece_of(tensors, first, size)
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
        """The bytes; None if a giver was lost before it had sent all of its own, and where nobody
        wants them."""
        for ticket in self._tickets:
            ticket.wait()
        if not self._wants or any(ticket.info().contributors != 1 for ticket in self._tickets):
            return None
        return self._buffer[:self._total]
