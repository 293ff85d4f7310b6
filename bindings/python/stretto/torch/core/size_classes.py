# SPDX-License-Identifier: Apache-2.0
"""Cuts tensors of any size into pieces of few sizes, so that few declared tensors suffice: servers
keep the last value of each tensor that was ever declared. Each piece has a power of two of
elements. Only the last piece may have padding, and is a copy then; other pieces are the tensor's
own memory. Padding is at most 1/16 of a tensor of more than 32 KiB.
"""

import torch

from stretto import environment
from stretto.torch.core import ways, wire

_SMALL_BYTES = 32 * 1024  # Up to here a tensor travels as one piece.
_BITS = 5  # Leading bits of a larger tensor's size: at most _BITS whole pieces.

_FLOATING = ("f16", "bf16", "f32", "f64")


def pieces_of(elements, item_bytes):
    """(label, size) of the pieces, in order, for this number of elements. Labels within a tensor
    differ, and equal labels mean equal sizes. Both count from 1."""
    if elements * item_bytes <= _SMALL_BYTES:
        return [_labelled(1 << (elements - 1).bit_length())]
    step = 1 << (elements.bit_length() - _BITS)
    sizes = [step << bit for bit in reversed(range(_BITS)) if elements // step >> bit & 1]
    rest = [(f"rest.{step}", step)] if elements % step else []
    return [_labelled(size) for size in sizes] + rest


def _labelled(size):
    return f"{size}", size


def serve(now, way, kind, codec):
    """Whether an exchange of elements of that kind by that backend and codec may be cut into
    pieces. Among workers the order of a sum depends on its size, and no value is kept. A codec or a
    check for NaN needs the whole tensor."""
    encoded = kind == "f32" and now.may_encode(codec)
    looks = kind in _FLOATING and environment.text("STRETTO_NONFINITE", default="pass") != "pass"
    return (way or now.place.usual_way) == ways.EXCHANGES[0] and not encoded and not looks


class Cut:
    """A tensor's memory for an exchange. Thread: one at a time.

    source, target  contiguous tensors of the CPU, of equal size and type; they may be the same
    names           of the declared tensors, with their sizes in elements; the last may be
                    larger than the rest of the tensor
    """

    def __init__(self, source, target, names):
        self._names = names
        self._source = source
        self._target = target
        self._begin = sum(size for _, size in names[:-1])  # Start of the last piece.
        self._last = None  # Copy of the last piece, if it has padding.
        left = source.numel() - self._begin
        if names[-1][1] > left:
            self._last = torch.zeros(names[-1][1], dtype=source.dtype)
            self._last[:left] = wire.without_gradient(source).view(-1)[self._begin:]

    @classmethod
    def of_any_size(cls, source, target, name):
        """Cuts into pieces that tensors of any size with that name and type share."""
        pieces = pieces_of(source.numel(), source.element_size())
        return cls(source, target, [(f"{name}.{label}", size) for label, size in pieces])

    @property
    def is_copied(self):
        """True if finish() has something to do."""
        return self._last is not None

    @property
    def memory(self):
        """The memory that must stay until the exchange has ended."""
        return self._source, self._target, self._last

    def routes(self, declare):
        """(tensor, source address, target address, bytes) of each piece; declare(name, elements)
        gives the tensor."""
        routes, first = [], 0
        item_bytes = self._source.element_size()
        for at, (name, size) in enumerate(self._names):
            declared = declare(name, size)
            if self._last is not None and at == len(self._names) - 1:
                address = self._last.data_ptr()
                routes.append((declared, address, address, declared.bytes))
            else:
                offset = first * item_bytes
                routes.append((declared, self._source.data_ptr() + offset,
                               self._target.data_ptr() + offset, declared.bytes))
            first += size
        return routes

    def finish(self):
        """Copies the last piece's result into the target."""
        if self._last is not None:
            place = wire.without_gradient(self._target).view(-1)[self._begin:]
            place.copy_(self._last[:place.numel()])
