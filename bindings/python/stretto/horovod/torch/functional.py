# SPDX-License-Identifier: Apache-2.0
"""Horovod's calls that return tensors or handles. Gradients of any order flow through the calls
that wait and return new tensors, since backward() consists of such calls. It exchanges again, so
either every worker calls it or none.
"""

import torch

from stretto import session
from stretto.horovod.torch import handles, ops, process_sets, reductions
from stretto.horovod.torch.process_sets import global_process_set
from stretto.horovod.torch.reductions import Average
from stretto.torch.core import exchange, wire
from stretto.torch.core.compression import Compression
from stretto.torch.core.functional import only_if


def _tensors_of(gathered):
    return [everybody for everybody, _ in gathered]


# ---- allreduce


def _reduce_work(kind, tensors, outputs, name, op, average, factors, process_set):
    process_sets.check(process_set, kind)
    return ops.reduce_work(kind, name, tensors, outputs, reductions.chosen(op, average), factors,
                           process_set)


def allreduce_async(tensor, average=None, name=None, op=None, prescale_factor=1.0,
                    postscale_factor=1.0, process_set=global_process_set):
    """Starts the mean, or by `op` Sum, Min, Max or Product, of the tensor over all workers, times
    prescale_factor before and postscale_factor afterwards, into a new tensor; returns a handle for
    poll() and synchronize()."""
    work = _reduce_work("allreduce", [tensor], None, name, op, average,
                        (prescale_factor, postscale_factor), process_set)
    return handles.begin(process_set, "allreduce", name, handles.first_of(work))


def allreduce_async_(tensor, average=None, name=None, op=None, prescale_factor=1.0,
                     postscale_factor=1.0, process_set=global_process_set):
    """As allreduce_async, in place."""
    work = _reduce_work("allreduce", [tensor], [tensor], name, op, average,
                        (prescale_factor, postscale_factor), process_set)
    return handles.begin(process_set, "allreduce", name, handles.first_of(work))


def allreduce_(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
               process_set=global_process_set):
    """As allreduce, in place; returns the tensor. Autograd does not follow that."""
    work = _reduce_work("allreduce", [tensor], [tensor], name, op, average,
                        (prescale_factor, postscale_factor), process_set)
    return handles.run(process_set, "allreduce", name, handles.first_of(work))


class _Allreduce(torch.autograd.Function):
    """Sums and means; their gradients are sums and means of all workers'."""

    @staticmethod
    def forward(ctx, kind, name, op, factors, process_set, *tensors):
        """New tensors."""
        ctx.how = kind, name, op, factors, process_set
        work = ops.reduce_work(kind, name, tensors, None, op, factors, process_set)
        return tuple(handles.run(process_set, kind, name, work))

    @staticmethod
    def backward(ctx, *gradients):
        """The gradients, under a name of their own."""
        kind, name, op, factors, process_set = ctx.how
        reductions.check_linear(op, kind)
        name = exchange.gradient_name(name)
        return (None, None, None, None, None,
                *_Allreduce.apply(kind, name, op, factors, process_set, *gradients))


def _allreduced(kind, tensors, name, compression, op, factors, process_set):
    for tensor in tensors:
        wire.check(tensor)
    small, contexts = zip(*(compression.compress(tensor) for tensor in tensors))
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in small):
        reduced = _Allreduce.apply(kind, name, op, factors, process_set, *small)
    else:
        work = ops.reduce_work(kind, name, small, None, op, factors, process_set)
        reduced = handles.run(process_set, kind, name, work)
    return [compression.decompress(tensor, context) for tensor, context in zip(reduced, contexts)]


def allreduce(tensor, average=None, name=None, compression=Compression.none, op=None,
              prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set):
    """The mean, or by `op` Sum, Min, Max or Product, of the tensor over all workers, times
    prescale_factor before and postscale_factor afterwards, as a new tensor. Whole numbers' means
    are rounded towards zero. Raises Mismatch, at all workers, if they differ in op, type or
    shape."""
    process_sets.check(process_set, "allreduce")
    return _allreduced("allreduce", [tensor], name, compression, reductions.chosen(op, average),
                       (prescale_factor, postscale_factor), process_set)[0]


def grouped_allreduce_async(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                            postscale_factor=1.0, process_set=global_process_set):
    """As allreduce_async, of a list of tensors: the handle gives a list."""
    work = _reduce_work("grouped_allreduce", list(tensors), None, name, op, average,
                        (prescale_factor, postscale_factor), process_set)
    return handles.begin(process_set, "grouped_allreduce", name, work)


def grouped_allreduce_async_(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                             postscale_factor=1.0, process_set=global_process_set):
    """As grouped_allreduce_async, in place."""
    tensors = list(tensors)
    work = _reduce_work("grouped_allreduce", tensors, tensors, name, op, average,
                        (prescale_factor, postscale_factor), process_set)
    return handles.begin(process_set, "grouped_allreduce", name, work)


def grouped_allreduce_(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                       postscale_factor=1.0, process_set=global_process_set):
    """As grouped_allreduce, in place; returns the list."""
    tensors = list(tensors)
    work = _reduce_work("grouped_allreduce", tensors, tensors, name, op, average,
                        (prescale_factor, postscale_factor), process_set)
    return handles.run(process_set, "grouped_allreduce", name, work)


def grouped_allreduce(tensors, average=None, name=None, compression=Compression.none, op=None,
                      prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set):
    """As allreduce, of a list of tensors; returns a list."""
    process_sets.check(process_set, "grouped_allreduce")
    op = reductions.chosen(op, average)
    if not tensors:
        return []
    return _allreduced("grouped_allreduce", list(tensors), name, compression, op,
                       (prescale_factor, postscale_factor), process_set)


def sparse_allreduce_async(tensor, name, op, process_set=global_process_set):
    """Starts the mean or sum of a sparse tensor over all workers; returns a function that waits and
    returns it. Only existing entries are sent."""
    process_sets.check(process_set, "sparse_allreduce")
    op = reductions.chosen(op, None)
    reductions.check_linear(op, "sparse_allreduce",
                            "of sparse tensors there are means and sums only")
    # A 1 from each worker, as only contributors count in a mean.
    parts = [tensor._indices().transpose(0, 1).contiguous(), tensor._values(), torch.ones(1)]
    handle = grouped_allgather_async(parts, name=f"{name}.sparse", process_set=process_set)

    def finish():
        indices, values, givers = handles.synchronize(handle)
        if op == Average:
            values = values / len(givers)
        return torch.sparse_coo_tensor(indices.transpose(0, 1), values, tensor.size())

    return finish


# ---- allgather


def allgather_async(tensor, name=None, process_set=global_process_set):
    """Starts to concatenate the tensors of all workers along their first dimension, in which they
    may differ; returns a handle for poll() and synchronize()."""
    process_sets.check(process_set, "allgather")
    work = ops.gather_work("allgather", name, [tensor], process_set)
    return handles.begin(process_set, "allgather", name,
                         handles.mapped(work, lambda found: found[0][0]))


def grouped_allgather_async(tensors, name=None, process_set=global_process_set):
    """As allgather_async, of a list of tensors: the handle gives a list."""
    process_sets.check(process_set, "grouped_allgather")
    work = ops.gather_work("grouped_allgather", name, list(tensors), process_set)
    return handles.begin(process_set, "grouped_allgather", name, handles.mapped(work, _tensors_of))


class _Allgather(torch.autograd.Function):
    """The tensors of all workers. The gradient of each is the mean of all workers' gradients of it,
    as in Horovod."""

    @staticmethod
    def forward(ctx, kind, name, process_set, *tensors):
        """New tensors."""
        work = ops.gather_work(kind, name, tensors, process_set)
        gathered = handles.run(process_set, kind, name, work)
        is_all = process_set is global_process_set
        seat = session.current().seat if is_all else process_set.rank()
        ctx.kind, ctx.name, ctx.process_set = kind, name, process_set
        ctx.pieces = [(sum(rows[:seat]), rows[seat]) for _, rows in gathered]
        ctx.shapes = [tensor.shape for tensor in tensors]
        return tuple(_tensors_of(gathered))

    @staticmethod
    def backward(ctx, *gradients):
        """The gradients, under a name of their own."""
        name = exchange.gradient_name(ctx.name)
        means = _Allreduce.apply(ctx.kind, name, Average, (1.0, 1.0), ctx.process_set, *gradients)
        mine = (mean.narrow(0, *piece).view(shape)
                for mean, piece, shape in zip(means, ctx.pieces, ctx.shapes))
        return (None, None, None, *mine)


def allgather(tensor, name=None, process_set=global_process_set):
    """The tensors of all workers, concatenated along their first dimension, in which they may
    differ. Raises Mismatch, at all workers, if types or other dimensions differ."""
    process_sets.check(process_set, "allgather")
    return _Allgather.apply("allgather", name, process_set, tensor)[0]


def grouped_allgather(tensors, name=None, process_set=global_process_set):
    """As allgather, of a list of tensors; returns a list."""
    process_sets.check(process_set, "grouped_allgather")
    return list(_Allgather.apply("grouped_allgather", name, process_set, *tensors))


def allgather_object(obj, name=None, process_set=global_process_set):
    """The list of all workers' objects, by rank. See stretto.torch.core.objects for the supported
    types: nothing is unpickled."""
    process_sets.check(process_set, "allgather_object")
    return ops.gather_objects("allgather_object", obj, name or "object", process_set)


# ---- broadcast


def broadcast_async(tensor, root_rank, name=None, process_set=global_process_set):
    """Starts a broadcast of `tensor` from the worker `root_rank` into a new tensor; returns a
    handle for poll() and synchronize()."""
    process_sets.check(process_set, "broadcast")
    wire.check(tensor)
    work = ops.broadcast_work(name, tensor.detach().clone(), root_rank, process_set)
    return handles.begin(process_set, "broadcast", name, work)


def broadcast_async_(tensor, root_rank, name=None, process_set=global_process_set):
    """As broadcast_async, in place."""
    process_sets.check(process_set, "broadcast")
    work = ops.broadcast_work(name, tensor, root_rank, process_set)
    return handles.begin(process_set, "broadcast", name, work)


class _Broadcast(torch.autograd.Function):
    """The tensor of one worker. Its gradient there is the mean of all workers', as in Horovod;
    elsewhere zero."""

    @staticmethod
    def forward(ctx, tensor, root_rank, name, process_set):
        """A new tensor."""
        ctx.root_rank, ctx.name, ctx.process_set = root_rank, name, process_set
        work = ops.broadcast_work(name, tensor.detach().clone(), root_rank, process_set)
        return handles.run(process_set, "broadcast", name, work)

    @staticmethod
    def backward(ctx, *gradients):
        """The gradient, under a name of its own."""
        name = exchange.gradient_name(ctx.name)
        [mean] = _Allreduce.apply("broadcast", name, Average, (1.0, 1.0), ctx.process_set,
                                  *gradients)
        return only_if(session.current().rank == ctx.root_rank, mean), None, None, None


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    """A new tensor: `tensor` of the worker `root_rank`. Raises Mismatch, at all workers, if they
    differ in type, shape or root."""
    process_sets.check(process_set, "broadcast")
    wire.check(tensor)
    return _Broadcast.apply(tensor, root_rank, name, process_set)


def broadcast_(tensor, root_rank, name=None, process_set=global_process_set):
    """As broadcast, in place; returns the tensor."""
    process_sets.check(process_set, "broadcast")
    work = ops.broadcast_work(name, tensor, root_rank, process_set)
    return handles.run(process_set, "broadcast", name, work)
