# SPDX-License-Identifier: Apache-2.0
"""Tensors in the calls of a Group: reductions, rows of all members, rows for each member. Each call
starts with a rendezvous, in which it waits for the others; the data exchange is a Call.

Members may have different numbers of rows, also none. Data that is only moved travels as bytes, so
that all types are supported; reductions use the tensor's own type or a wider one.
"""

import math
import operator
from typing import Any, Iterable, List, Optional, Sequence

import torch

from stretto import errors
from stretto.torch.core import agreement, objects, wire
from stretto.torch.collectives.groups import Ask, Call, Group
from stretto.torch.collectives.meetings import PRIORITY

REDUCTIONS = ("sum", "mean", "min", "max", "product")
_NO_OBJECT = b"\0"  # Encoding of a missing object.
_HALVES = (torch.float16, torch.bfloat16)
_WHOLE = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool}


def described(tensors, rows=True):
    """Facts of the tensors; their first dimensions only if `rows`."""
    if rows:
        return {f"tensor {at}": agreement.fact_of(tensor) for at, tensor in enumerate(tensors)}
    return {f"tensor {at}": f"{wire.type_name(tensor)}[rows"
            f"{''.join(f', {size}' for size in tensor.shape[1:])}]"
            for at, tensor in enumerate(tensors)}


def _kind_for(tensor, rule):
    # The type for sums: halves are added up in 32 bits, and means of whole numbers in 64.
    if rule == "mean" and tensor.dtype in _WHOLE:
        return torch.int64
    if rule in ("sum", "mean") and tensor.dtype in _HALVES:
        return torch.float32
    return wire.type_on_wire(tensor)


def _reduced_by(rule):
    return "sum" if rule == "mean" else rule


def _result_of(flat, tensor, shape, rule, size):
    # Means of whole numbers are rounded towards zero, as in Horovod.
    if rule == "mean":
        flat = flat / size if flat.is_floating_point() else flat.div(size, rounding_mode="trunc")
    return flat.view(shape).to(device=tensor.device, dtype=tensor.dtype)


def begin_reduce(group: Group, ask: Ask, tensors: Sequence[torch.Tensor], rule: str) -> Call:
    """Reductions of the members' tensors: a list of new ones, bit-identical at all members."""
    flats = [tensor.detach().to("cpu", _kind_for(tensor, rule), copy=True).reshape(-1)
             for tensor in tensors]

    def call(core, everybody):
        del everybody
        return [core.all_reduce(wire.NAMES[flat.dtype], wire.place_of(flat), wire.place_of(flat),
                                _reduced_by(rule), PRIORITY, flat)
                for flat in flats if flat.numel()]

    tickets = group.begin(_with(ask, {"reduction": rule, **described(tensors)}), None, call)
    return Call(tickets, lambda: [
        _result_of(flat, tensor, tensor.shape, rule, group.size)
        for flat, tensor in zip(flats, tensors)])


def _with(ask, facts):
    return ask._replace(facts={**ask.facts, **facts})


def check_rows(tensor: torch.Tensor, operation: str) -> None:
    """InvalidArgument for a tensor without dimensions."""
    if tensor.dim() == 0:
        raise errors.InvalidArgument("the tensor has no dimension, and its first one is what "
                                     "workers get rows of", operation=operation)


def with_rows(gradient: torch.Tensor, rows: int) -> torch.Tensor:
    """The gradient of a tensor with `rows` rows; its last rows may have no receiver, and get
    zeros."""
    left = rows - gradient.shape[0]
    if left == 0:
        return gradient
    return torch.cat([gradient, gradient.new_zeros((left, *gradient.shape[1:]))])


def rows_by_member(rows: int, size: int) -> List[int]:
    """The number of rows of each of `size` members: equal parts, and the remainder one each to the
    first members."""
    return [rows // size + (at < rows % size) for at in range(size)]


def begin_reduce_scatter(group: Group, ask: Ask, tensors: Sequence[torch.Tensor],
                         rule: str) -> Call:
    """This member's rows, by rows_by_member(), of the reductions of the members' tensors, which
    have at least one dimension: a list of new tensors."""
    pieces = [_scattered(group, tensor, rule) for tensor in tensors]

    def call(core, everybody):
        del everybody
        return [core.reduce_scatter(wire.NAMES[blocks.dtype], wire.place_of(blocks),
                                    wire.place_of(mine), _reduced_by(rule), PRIORITY,
                                    (blocks, mine))
                for blocks, mine in pieces if blocks.numel()]

    tickets = group.begin(_with(ask, {"reduction": rule, **described(tensors)}), None, call)

    def finish():
        found = []
        for (_, mine), tensor in zip(pieces, tensors):
            rows = rows_by_member(tensor.shape[0], group.size)[group.rank]
            found.append(_result_of(mine[:rows], tensor, (rows, *tensor.shape[1:]), rule,
                                    group.size))
        return found

    return Call(tickets, finish)


def _scattered(group, tensor, rule):
    # Equal blocks of rows for all members, and space for this member's block.
    source = tensor.detach().to("cpu", _kind_for(tensor, rule)).contiguous()
    counts = rows_by_member(source.shape[0], group.size)
    blocks = source
    if counts[0] > counts[-1]:
        blocks = torch.zeros((group.size, counts[0], *source.shape[1:]), dtype=source.dtype)
        for block, rows in zip(blocks, source.split(counts)):
            block[:len(rows)] = rows
    return blocks, torch.empty((counts[0], *source.shape[1:]), dtype=source.dtype)


def begin_gather(group: Group, ask: Ask, tensors: Sequence[torch.Tensor]) -> Call:
    """The members' tensors, concatenated along their first dimension, in which they may differ: a
    list of (concatenated tensor, rows of each member)."""
    sources = [tensor.detach().to("cpu").contiguous() for tensor in tensors]
    found = []

    def call(core, everybody):
        tickets = []
        for at, source in enumerate(sources):
            rows = [_count(told, at) for told in everybody]
            target = torch.empty((sum(rows), *source.shape[1:]), dtype=source.dtype)
            found.append((target, rows))
            tickets += _begin_rows(core, source, target, rows)
        return tickets

    facts = described(tensors, rows=False)
    tickets = group.begin(_with(ask, facts), [len(source) for source in sources], call)
    return Call(tickets, lambda: [(target.to(tensor.device), rows)
                                  for (target, rows), tensor in zip(found, tensors)])


def _begin_rows(core, source, target, rows):
    if target.numel() == 0:
        return []
    if len(set(rows)) == 1:
        return [core.all_gather(wire.place_of(source), wire.place_of(target), PRIORITY,
                                (source, target))]
    blocks = target.split(rows)
    blocks[core.rank].copy_(source)
    return [core.broadcast(wire.place_of(block), root, PRIORITY, target)
            for root, block in enumerate(blocks) if block.numel()]


def begin_broadcast(group: Group, ask: Ask, tensors: Sequence[torch.Tensor], root: int) -> Call:
    """New tensors: those of the worker of rank `root` in the job, which is a member."""
    sources = [tensor.detach().to("cpu", copy=True).contiguous() for tensor in tensors]
    member = group.ranks.index(root)

    def call(core, everybody):
        del everybody
        return [core.broadcast(wire.place_of(source), member, PRIORITY, source)
                for source in sources if source.numel()]

    facts = {"root_rank": str(root), **described(tensors)}
    tickets = group.begin(_with(ask, facts), None, call)
    return Call(tickets, lambda: [source.to(tensor.device)
                                  for source, tensor in zip(sources, tensors)])


def begin_all_to_all(group: Group, ask: Ask, tensor: torch.Tensor,
                     splits: Optional[Sequence[int]]) -> Call:
    """Rows for each member, by number: as in `splits`, or equally many for each. The result is (the
    rows received from all members, concatenated; the number from each)."""
    splits = splits_of(tensor, splits, group.size)
    source = tensor.detach().narrow(0, 0, sum(splits)).to("cpu").contiguous()
    width = math.prod(source.shape[1:]) * source.element_size()
    found = []

    def call(core, everybody):
        take = [_count(told, group.rank) for told in everybody]
        target = torch.empty((sum(take), *source.shape[1:]), dtype=source.dtype)
        found.append((target, take))
        if not any(map(any, everybody)):
            return []
        return [core.all_to_all(wire.place_of(source), wire.place_of(target),
                                [rows * width for rows in splits], [rows * width for rows in take],
                                PRIORITY, (source, target))]

    tickets = group.begin(_with(ask, described([tensor], rows=False)), splits, call)

    def finish():
        [(target, take)] = found
        return target.to(tensor.device), take

    return Call(tickets, finish)


def whole_numbers(splits: Iterable[Any]) -> List[int]:
    """Numbers of rows, of any integer type. InvalidArgument for others."""
    try:
        return [operator.index(rows) for rows in splits]
    except TypeError as error:
        raise errors.InvalidArgument(f"splits are {splits!r}, wanted whole numbers of rows, one "
                                     "for each worker", operation="alltoall") from error


def splits_of(tensor: torch.Tensor, splits: Optional[Sequence[int]], size: int) -> List[int]:
    """The number of rows for each member; the remainder is not sent. InvalidArgument if they exceed
    the tensor's rows."""
    check_rows(tensor, "alltoall")
    rows = tensor.shape[0]
    if splits is None:
        if rows % size:
            raise errors.InvalidArgument(
                f"the tensor has {rows} rows for {size} members, which get as many each; give "
                "splits=", operation="alltoall")
        return [rows // size] * size
    if len(splits) != size or min(splits) < 0 or sum(splits) > rows:
        raise errors.InvalidArgument(
            f"splits are {list(splits)} for a tensor of {rows} rows and {size} members, wanted a "
            "number of rows for each, and no more than there are", operation="alltoall")
    return list(splits)


def _count(told, at):
    if not isinstance(told, list) or len(told) <= at or not isinstance(told[at], int) \
            or told[at] < 0:
        raise errors.Malformed(f"a worker told {told!r}, wanted numbers of rows")
    return told[at]


def barrier(group: Group, ask: Ask) -> None:
    """Returns when all members have called it."""
    group.begin(ask, None, lambda core, everybody: None)


def gather_objects(group: Group, ask: Ask, obj: object) -> List[object]:
    """The members' objects, by number."""
    def gather(mine):
        [(everybody, rows)] = begin_gather(group, ask, [mine]).wait()
        return everybody, rows

    return objects_by(gather, obj, ask.operation, group.ranks)


def objects_by(gather, obj, operation, ranks=None):
    """The list of all members' objects; `gather` makes (concatenated rows, numbers of rows) of a
    tensor of bytes. `ranks` are the members; None: all. See stretto.torch.core.objects for the
    supported types: nothing is unpickled."""
    data, wrong = b"", None
    try:
        data = objects.encode(obj)
    except TypeError as error:
        wrong = error  # The other members wait: send the error first.
    everybody, rows = gather(torch.frombuffer(bytearray(data or _NO_OBJECT), dtype=torch.uint8))
    if wrong is not None:
        raise wrong
    pieces = [piece.numpy().tobytes() for piece in everybody.split(rows)]
    if _NO_OBJECT in pieces:
        at = pieces.index(_NO_OBJECT)
        raise errors.InvalidArgument(
            f"the object of worker {at if ranks is None else ranks[at]} cannot be gathered; its "
            "own error says why", operation=operation)
    return [objects.decode(piece) for piece in pieces if piece]  # A lost worker's piece is empty.
