# SPDX-License-Identifier: Apache-2.0
"""Horovod's calls as work for operation queues: the workers' requests are compared, then the data
is exchanged. Unnamed exchanges of one kind match in the order in which workers start them.
Allreduce, allgather and broadcast over all workers are named tensors, as in stretto.torch; the
calls on some of the workers, or without such a tensor, are calls of a group.
"""

import torch

from stretto import session, unfinished
from stretto.horovod.torch import handles, reductions
from stretto.horovod.torch.process_sets import global_process_set
from stretto.horovod.torch.reductions import Average
from stretto.torch.collectives import collectives
from stretto.torch.core import agreement, broadcasting, exchange, wire
from stretto.torch.collectives.groups import Ask

_SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)


class _Reduced:
    """The handle of one tensor of an allreduce, from which `finish` computes the result."""

    def __init__(self, in_flight, output, finish):
        self._in_flight = in_flight
        self._output = output
        self._finish = None if finish is None else unfinished.Once(
            lambda: wire.without_gradient(output).copy_(finish(output.detach())))

    def done(self):
        """True once it has ended."""
        return self._in_flight.done()

    def wait(self):
        """Waits, and returns the tensor."""
        self._in_flight.wait()
        if self._finish is not None:
            self._finish()
            self._finish = None
        return self._output


class _Group:
    """The handle of several."""

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
    facts = {agreement.CALL: kind, **facts}
    agreement.Agreement(label, f"tensors in {kind}", facts, kind, of_all).wait()


def _ask(kind, name, facts=None):
    return Ask(handles.label_of(kind, name), kind, {agreement.CALL: kind, **(facts or {})})


def _on_wire(kind, name, what):
    # A name has one type in stretto.torch; here its type may differ each time.
    return f"horovod.{kind}.{name or 'noname'}.{what}"


def _rule_of(op, dtype, postscale_factor):
    # The servers' operation, and the one that remains to be applied to their result. As in Horovod,
    # means of signed whole numbers are rounded towards zero; in an elastic job, where only servers
    # know the contributors of a round, they are rounded down.
    if op == Average and dtype in _SIGNED and not session.current().elastic:
        size = session.current().size
        return "sum", lambda tensor: reductions.scaled(tensor.div(size, rounding_mode="trunc"),
                                                       postscale_factor)
    rule = reductions.RULES[op]
    if postscale_factor == 1:
        return rule, None
    return rule, lambda tensor: reductions.scaled(tensor, postscale_factor)


def _facts_of(op, factors):
    return {"op": op.name, "prescale_factor": str(float(factors[0])),
            "postscale_factor": str(float(factors[1]))}


def reduce_work(kind, name, tensors, outputs, op, factors, process_set):
    """The work of an allreduce of some tensors into others, in place, or for None into new tensors:
    its handle returns a list. Factors are those before and after."""
    for tensor in tensors:
        wire.check(tensor)
    if outputs is None:
        outputs = [torch.empty_like(tensor, requires_grad=False,
                                    memory_format=torch.contiguous_format) for tensor in tensors]
    reductions.check_factors(*factors)
    sources = [reductions.scaled(wire.without_gradient(tensor), factors[0]) for tensor in tensors]
    facts = _facts_of(op, factors)
    if process_set is not global_process_set:
        return _reduce_in_set(process_set, _ask(kind, name, facts), sources, outputs, op,
                              factors[1])
    facts |= collectives.described(tensors)

    def begin():
        _agree(kind, name, facts, of_all=False)
        members = []
        for index, (source, output) in enumerate(zip(sources, outputs)):
            rule, finish = _rule_of(op, source.dtype, factors[1])
            label = _on_wire(kind, name, f"{index}.{rule}.{wire.type_name(source)}")
            target = wire.without_gradient(output)
            in_flight = exchange.begin_reduce(source, target, label, rule, 0, compared=False)
            members.append(_Reduced(in_flight, output, finish))
        return _Group(members)

    return begin


def _reduce_in_set(process_set, ask, sources, outputs, op, postscale_factor):
    def store(results):
        for output, result in zip(outputs, results):
            wire.without_gradient(output).copy_(reductions.scaled(result, postscale_factor))
        return list(outputs)

    return lambda: handles.Mapped(
        collectives.begin_reduce(process_set.group(), ask, sources, reductions.RULES[op]), store)


def scatter_work(kind, name, tensors, op, factors, process_set):
    """The work of a reducescatter of some tensors: its handle returns a list of new tensors.
    ValueError for a tensor without dimensions."""
    for tensor in tensors:
        wire.check(tensor)
        collectives.check_rows(tensor, kind)
    reductions.check_factors(*factors)
    sources = [reductions.scaled(wire.without_gradient(tensor), factors[0]) for tensor in tensors]
    ask = _ask(kind, name, _facts_of(op, factors))
    return lambda: handles.Mapped(
        collectives.begin_reduce_scatter(process_set.group(), ask, sources, reductions.RULES[op]),
        lambda results: [reductions.scaled(result, factors[1]) for result in results])


def alltoall_work(name, tensor, splits, process_set):
    """The work of an alltoall: its handle returns the tensor and a tensor with the number of rows
    of each worker. `splits` are numbers, or None."""
    wire.check(tensor)
    collectives.splits_of(tensor, splits, process_set.size())
    ask = _ask("alltoall", name)

    def counted(result):
        return result[0], torch.tensor(result[1], dtype=torch.int32)

    return lambda: handles.Mapped(
        collectives.begin_all_to_all(process_set.group(), ask, tensor, splits), counted)


def barrier(process_set):
    """Returns when all workers of the set have called it."""
    handles.run(process_set, "barrier", None, lambda: handles.Ended(
        collectives.barrier(process_set.group(), _ask("barrier", None))))


def gather_work(kind, name, tensors, process_set):
    """The work of an allgather of some tensors: its handle returns a list of (concatenated tensor,
    rows of each worker)."""
    sources = []
    for tensor in tensors:
        wire.check(tensor)
        source = wire.without_gradient(tensor)
        sources.append(source.reshape(1) if source.dim() == 0 else source)
    if process_set is not global_process_set:
        return lambda: collectives.begin_gather(process_set.group(), _ask(kind, name), sources)

    def begin():
        _agree(kind, name, collectives.described(sources, rows=False))
        label = _on_wire(kind, name, "rows")
        gathered = [exchange.gather(source, label) for source in sources]
        return handles.Ended(gathered)

    return begin


def check_root(root_rank, process_set):
    """ValueError unless the root is a valid rank."""
    exchange.check_root(root_rank)
    if process_set is not global_process_set and root_rank not in process_set.ranks:
        raise ValueError(f"the root's rank is {root_rank}, as in the job; the process set has "
                         f"ranks {process_set.ranks}")


def broadcast_work(name, output, root_rank, process_set):
    """The work of a broadcast from one worker."""
    wire.check(output)
    check_root(root_rank, process_set)
    if process_set is not global_process_set:
        return _broadcast_in_set(_ask("broadcast", name), output, root_rank, process_set)
    facts = {"root_rank": str(root_rank), **collectives.described([output])}

    def begin():
        _agree("broadcast", name, facts)
        label = _on_wire("broadcast", name, f"{root_rank}.{wire.type_name(output)}")
        return exchange.begin_broadcast(output, root_rank, label, compared=False)

    return begin


def _broadcast_in_set(ask, output, root_rank, process_set):
    def store(results):
        wire.without_gradient(output).copy_(results[0])
        return output

    return lambda: handles.Mapped(
        collectives.begin_broadcast(process_set.group(), ask, [output], root_rank), store)


def broadcast_parameters_in_set(params, root_rank, process_set):
    """Copies named tensors from one worker of the set to the others."""
    check_root(root_rank, process_set)
    pairs = broadcasting.named_tensors(params)
    for name, tensor in pairs:
        wire.check(tensor, f"tensor '{name}'")
    kind = "broadcast_parameters"
    ask = _ask(kind, None, {f"'{name}'": agreement.fact_of(tensor) for name, tensor in pairs})
    found = handles.run(process_set, kind, None, lambda: collectives.begin_broadcast(
        process_set.group(), ask, [tensor for _, tensor in pairs], root_rank))
    for (_, tensor), values in zip(pairs, found):
        tensor.detach().copy_(values)


def gather_objects(kind, obj, name, process_set):
    """The list of the workers' objects, by rank."""
    def gather(mine):
        [found] = handles.run(process_set, kind, name,
                              gather_work(kind, name, [mine], process_set))
        return found

    ranks = None if process_set is global_process_set else process_set.ranks
    return collectives.objects_by(gather, obj, kind, ranks)


def broadcast_object_in_set(obj, root_rank, name, process_set):
    """The object of the worker `root_rank` of the set; the other workers contribute no bytes."""
    check_root(root_rank, process_set)
    kind, is_root = "broadcast_object", session.current().rank == root_rank

    def gather(mine):
        work = gather_work(kind, name, [mine if is_root else mine[:0]], process_set)
        [found] = handles.run(process_set, kind, name, work)
        return found

    [found] = collectives.objects_by(gather, obj if is_root else None, kind, process_set.ranks)
    return found
