# SPDX-License-Identifier: Apache-2.0
"""Horovod's allreduce, allgather and broadcast as work for lanes: what the workers ask for is
compared, then it travels. Without a name, exchanges of one kind go together in the order in which
workers begin them.
"""

import numbers

import torch

from stretto import errors, session
from stretto.horovod.torch import handles, reductions
from stretto.horovod.torch.reductions import Average
from stretto.torch import agreement, exchange, objects, wire

_SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
_LONGEST_DESCRIPTION = 200


class _Reduced:
    """The handle on one tensor of an allreduce, which `finish` makes the result of."""

    def __init__(self, in_flight, output, finish):
        self._in_flight = in_flight
        self._output = output
        self._finish = finish

    def done(self):
        """True once it has ended."""
        return self._in_flight.done()

    def wait(self):
        """Waits, and returns the tensor."""
        self._in_flight.wait()
        if self._finish is not None:
            wire.without_gradient(self._output).copy_(self._finish(self._output.detach()))
            self._finish = None
        return self._output


class _Group:
    """The handle on several."""

    def __init__(self, members):
        self._members = members

    def done(self):
        """True once all have ended."""
        return all(member.done() for member in self._members)

    def wait(self):
        """Waits, and returns the list of results."""
        return [member.wait() for member in self._members]


def _agree(kind, name, facts, of_all=True):
    label = handles.label_of(kind, name)
    agreement.Agreement(label, f"tensors in {kind}", facts, kind, of_all).wait()
_NO_OBJECT = b"\0"  # What no object is encoded as.


def _described(tensors):
    return {f"tensor {index}": agreement.fact_of(tensor) for index, tensor in enumerate(tensors)}


def _on_wire(kind, name, what):
    # A name has one type and size there; here it may have another each time.
    if len(what) > _LONGEST_DESCRIPTION:
        what = f"{exchange.digest_of(what):x}"
    return f"{handles.label_of(kind, name)}.{what}"


def _rule_of(op, dtype, postscale_factor):
    # What servers do, and what remains to be done with what they made. As Horovod does it, means
    # of signed whole numbers are rounded towards zero; in an elastic job, where only servers know
    # whose shares are in a round, they are rounded down.
    if op == Average and dtype in _SIGNED and not session.current().elastic:
        size = session.current().size
        return "sum", lambda tensor: reductions.scaled(tensor.div(size, rounding_mode="trunc"),
                                                       postscale_factor)
    rule = reductions.RULES[op]
    if postscale_factor == 1:
        return rule, None
    return rule, lambda tensor: reductions.scaled(tensor, postscale_factor)


def reduce_work(kind, name, tensors, outputs, op, factors):
    """The work of an allreduce of some tensors into others, or themselves, or for None new ones:
    its handle gives a list. Factors are those before and after."""
    for tensor in tensors:
        wire.check(tensor)
    if outputs is None:
        outputs = [torch.empty_like(tensor, requires_grad=False,
                                    memory_format=torch.contiguous_format) for tensor in tensors]
    reductions.check_factors(*factors)
    sources = [reductions.scaled(wire.without_gradient(tensor), factors[0]) for tensor in tensors]
    facts = {"op": op.name, "prescale_factor": str(float(factors[0])),
             "postscale_factor": str(float(factors[1])), **_described(tensors)}

    def begin():
        _agree(kind, name, facts, of_all=False)
        members = []
        for index, (source, output) in enumerate(zip(sources, outputs)):
            rule, finish = _rule_of(op, source.dtype, factors[1])
            label = _on_wire(kind, name, f"{index}.{rule}.{agreement.fact_of(source)}")
            target = wire.without_gradient(output)
            in_flight = exchange.begin_reduce(source, target, label, rule, 0, compared=False)
            members.append(_Reduced(in_flight, output, finish))
        return _Group(members)

    return begin


def gather_work(kind, name, tensors):
    """The work of an allgather of some tensors: its handle gives a list of (everybody's, rows of
    each worker)."""
    sources = []
    for tensor in tensors:
        wire.check(tensor)
        source = wire.without_gradient(tensor)
        sources.append(source.reshape(1) if source.dim() == 0 else source)

    def begin():
        label = handles.label_of(kind, name)
        gathered = [exchange.gather(source, label) for source in sources]
        return handles.Ended(gathered)

    return begin


def check_root(root_rank):
    """ValueError unless there is such a worker."""
    now = session.current()
    size = now.seats if now.elastic else now.size  # Who is left is found out together.
    if not isinstance(root_rank, numbers.Integral) or not 0 <= root_rank < size:
        raise ValueError(f"the root's rank is {root_rank!r}; there are ranks 0 to {size - 1}")


def broadcast_work(name, output, root_rank):
    """The work of making a tensor what it is at one worker."""
    wire.check(output)
    check_root(root_rank)
    facts = {"root_rank": str(root_rank), **_described([output])}

    def begin():
        _agree("broadcast", name, facts)
        label = _on_wire("broadcast", name, f"{root_rank}.{agreement.fact_of(output)}")
        return exchange.begin_broadcast(output, root_rank, label, compared=False)

    return begin


def gather_objects(obj, name):
    """The list of all workers' objects, by rank."""
    label = name or "object"
    data, wrong = b"", None
    try:
        data = objects.encode(obj)
    except TypeError as error:
        wrong = error  # The others wait for something: they are told first.
    mine = torch.frombuffer(bytearray(data or _NO_OBJECT), dtype=torch.uint8)
    [(everybody, rows)] = handles.run("allgather_object", label,
                                      gather_work("allgather_object", label, [mine]))
    if wrong is not None:
        raise wrong
    pieces = [piece.numpy().tobytes() for piece in everybody.split(rows)]
    if _NO_OBJECT in pieces:
        raise errors.InvalidArgument(
            f"the object of worker {pieces.index(_NO_OBJECT)} cannot be gathered; its own error "
            "says why", operation="allgather_object")
    return [objects.decode(piece) for piece in pieces if piece]  # Of who is lost there is none.
