# SPDX-License-Identifier: Apache-2.0
"""The tensors of one call as one piece of memory: their own memory if they are adjacent, else a
copy, which is written back when the call has ended.
"""

from typing import Callable, NamedTuple, Optional

import torch

from stretto import errors
from stretto.torch.core import wire
from stretto.torch.core.wire import place_of


class Piece(NamedTuple):
    """Contiguous memory, and the function that stores it into the tensors; None: it is theirs."""

    flat: torch.Tensor
    store: Optional[Callable[[], None]] = None

    @property
    def place(self):
        """(address, bytes)."""
        return place_of(self.flat)


NOTHING = (0, 0)
"""The place of no bytes."""


def dense(tensors):
    """The tensors without autograd history. Raises TypeError or Unsupported unless all are dense
    tensors of the CPU."""
    return [_dense(tensor) for tensor in tensors]


def some(tensors):
    """Like dense(). Raises InvalidArgument if there are no tensors."""
    if not tensors:
        raise errors.InvalidArgument("no tensors, wanted some")
    return dense(tensors)


def _dense(tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"a {type(tensor).__name__}, wanted a torch.Tensor")
    if tensor.layout is not torch.strided:
        raise TypeError(f"a tensor is sparse ({tensor.layout}); exchange tensor.to_dense()")
    if not tensor.is_cpu:
        raise errors.Unsupported(f"a tensor is on {tensor.device}, and backend 'stretto' is for "
                                 "tensors of the CPU; exchange tensor.cpu()")
    return tensor.detach()


def one(tensors):
    """The only tensor of a list. Raises InvalidArgument for more or none: longer lists are for
    several devices of one process."""
    if len(tensors) != 1:
        raise errors.InvalidArgument(f"{len(tensors)} tensors, wanted one: a process has one "
                                     "device here")
    return _dense(tensors[0])


def only(lists):
    """The only list of tensors. Raises InvalidArgument for more or none."""
    if len(lists) != 1:
        raise errors.InvalidArgument(f"{len(lists)} lists of tensors, wanted one: a process has "
                                     "one device here")
    return lists[0]


def alike(tensors):
    """Raises InvalidArgument unless all have one element type."""
    if not have_one_type(tensors):
        kinds = ", ".join(sorted({wire.type_name(tensor) for tensor in tensors}))
        raise errors.InvalidArgument(f"tensors of one call have types {kinds}, wanted one")


def equal(tensors, count, model):
    """The dense tensors of a list with one tensor a member. Raises InvalidArgument unless there are
    `count`, each with the type and number of elements of `model`."""
    tensors = dense(tensors)
    if len(tensors) != count:
        raise errors.InvalidArgument(f"{len(tensors)} tensors for {count} members, wanted one for "
                                     "each")
    for number, tensor in enumerate(tensors):
        if tensor.numel() != model.numel():
            raise errors.InvalidArgument(f"the tensor of member {number} has {tensor.numel()} "
                                         f"elements, wanted {model.numel()}: all have as many")
    alike([model, *tensors])
    return tensors


def parts(tensors, members):
    """Each tensor as equal parts for the members, which share its memory: parts[member][tensor].
    Raises InvalidArgument for a tensor that is not contiguous or has no equal parts."""
    rows = []
    for tensor in dense(tensors):
        size = tensor.numel() // members
        if not tensor.is_contiguous() or size * members != tensor.numel():
            raise errors.InvalidArgument(f"a tensor of {tensor.numel()} elements for {members} "
                                         "members, wanted a contiguous one with as many for each")
        rows.append(tensor.view(members, size))
    return [[row[member] for row in rows] for member in range(members)]


def fit(found, tensors):
    """Raises InvalidArgument unless the parts of each member are as large as these tensors."""
    sizes = [tensor.numel() for tensor in tensors]
    for of_member in found:
        if [part.numel() for part in of_member] != sizes:
            found_sizes = [part.numel() for part in of_member]
            raise errors.InvalidArgument(f"parts of {found_sizes} elements for a member, wanted "
                                         f"{sizes}")


def have_one_type(tensors):
    """Whether all have one element type."""
    return len({tensor.dtype for tensor in tensors}) <= 1


def as_bytes(tensors):
    """The tensors' elements as bytes, which share the memory of contiguous tensors."""
    return [tensor.reshape(-1).view(torch.uint8) for tensor in tensors]


def _own(tensors):
    # The tensors' own memory as one flat tensor; None if the tensors are not adjacent, or are lazy
    # views (conj, neg) with other numbers than the memory.
    first = tensors[0]
    end = first.data_ptr()
    if any(tensor.is_conj() or tensor.is_neg() for tensor in tensors):
        return None
    for tensor in tensors:
        if not tensor.is_contiguous() or tensor.data_ptr() != end and tensor.numel():
            return None
        end += tensor.numel() * tensor.element_size()
    if len(tensors) == 1:
        return first.view(-1)
    storage = wire.storage_of(first).data_ptr()
    if any(wire.storage_of(tensor).data_ptr() != storage for tensor in tensors if tensor.numel()):
        return None  # Neighbours by chance.
    total = sum(tensor.numel() for tensor in tensors)
    return first.as_strided((total,), (1,), first.storage_offset())


def given(tensors, kind=None):
    """A Piece with the elements of these tensors, as `kind`. Tensors have one type; none: empty."""
    return _piece(tensors, kind, is_loaded=True, is_stored=False)


def wanted(tensors, kind=None):
    """A Piece whose bytes are stored into the tensors at the end."""
    return _piece(tensors, kind, is_loaded=False, is_stored=True)


def changed(tensors, kind=None):
    """A Piece that is both given and wanted."""
    return _piece(tensors, kind, is_loaded=True, is_stored=True)


def _piece(tensors, kind, is_loaded, is_stored):
    alike(tensors)
    own = _own(tensors) if kind in (None, tensors[0].dtype) else None
    if own is not None:
        return Piece(own)
    flat = torch.empty(sum(tensor.numel() for tensor in tensors), dtype=kind or tensors[0].dtype)
    parts = [part.view(tensor.shape) for part, tensor in
             zip(flat.split([tensor.numel() for tensor in tensors]), tensors)]
    if is_loaded:
        for part, tensor in zip(parts, tensors):
            part.copy_(tensor)

    def store():
        # Runs on any thread, whose inference mode may differ from the mode that made the tensors.
        with torch.inference_mode(any(tensor.is_inference() for tensor in tensors)):
            for part, tensor in zip(parts, tensors):
                tensor.copy_(part)

    return Piece(flat, store if is_stored else None)


def apart(source, target):
    """The source, or a copy of it if it shares memory with the target."""
    begin, size = source.place
    other, length = target.place
    overlaps = begin < other + length and other < begin + size
    return Piece(source.flat.clone()) if overlaps else source


_WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.int8: torch.int64,
         torch.uint8: torch.int64, torch.int32: torch.int64, torch.int16: torch.int64,
         torch.bool: torch.int64}


def reduced_as(tensor, op):
    """The type in which such tensors are reduced: their own, or a type that holds a sum before the
    division. Raises InvalidArgument if there is none."""
    kind = wire.type_on_wire(tensor)
    return _WIDE.get(tensor.dtype, kind) if op == "average" else kind
