# SPDX-License-Identifier: Apache-2.0
"""Horovod's alltoall and reducescatter. Gradients flow through the blocking calls, and are the same
as Horovod's; see functional.py.
"""

import torch

from stretto.horovod.torch import handles, ops, process_sets, reductions
from stretto.horovod.torch.functional import grouped_allgather
from stretto.horovod.torch.process_sets import global_process_set
from stretto.horovod.torch.reductions import Average, Sum
from stretto.torch.collectives import collectives
from stretto.torch.core import exchange
from stretto.torch.core.compression import Compression

_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


# ---- alltoall


def _numbers_in(splits):
    # Horovod takes splits as a tensor or a list.
    if splits is None:
        return None
    if isinstance(splits, torch.Tensor):
        if splits.dtype not in _WHOLE or splits.dim() != 1:
            raise ValueError(f"splits is a tensor of {splits.dtype} and {splits.dim()} dimensions, "
                             "wanted whole numbers of rows in one")
        return splits.tolist()
    return collectives.whole_numbers(splits)


def _alltoall_work(tensor, splits, name, process_set):
    process_sets.check(process_set, "alltoall")
    return ops.alltoall_work(name, tensor, _numbers_in(splits), process_set)


def alltoall_async(tensor, splits=None, name=None, process_set=global_process_set):
    """Starts alltoall(); returns a handle for poll() and synchronize(), which returns a pair: the
    tensor, and its number of rows from each worker."""
    work = _alltoall_work(tensor, splits, name, process_set)
    return handles.begin(process_set, "alltoall", name, work)


class _Alltoall(torch.autograd.Function):
    """Each gradient returns to the worker that sent its rows."""

    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        """The tensor, and its number of rows from each worker."""
        work = _alltoall_work(tensor, splits, name, process_set)
        found, received = handles.run(process_set, "alltoall", name, work)
        ctx.how = name, process_set, received, tensor.shape[0]
        received = received.to(splits.device) if isinstance(splits, torch.Tensor) else received
        ctx.mark_non_differentiable(received)
        return found, received

    @staticmethod
    def backward(ctx, *gradients):
        """The gradient, under a name of its own."""
        name, process_set, received, rows = ctx.how
        found, _ = alltoall(gradients[0], received, exchange.gradient_name(name), process_set)
        return collectives.with_rows(found, rows), None, None, None


def alltoall(tensor, splits=None, name=None, process_set=global_process_set):
    """Sends each worker some rows of the tensor, by rank. `splits` gives the number for each, which
    may be 0; without it the numbers are equal. Returns the rows from all workers, concatenated by
    rank; with `splits` also their numbers, as a tensor of int32. Raises Mismatch at all workers if
    types or other dimensions differ, InvalidArgument if `splits` exceed the rows."""
    found, received = _Alltoall.apply(tensor, splits, name, process_set)
    return found if splits is None else (found, received)


# ---- reducescatter


def _scatter_work(kind, tensors, name, op, factors, process_set):
    process_sets.check(process_set, kind)
    return ops.scatter_work(kind, name, tensors, reductions.chosen(op, None), factors, process_set)


def reducescatter_async(tensor, name=None, op=Average, process_set=global_process_set,
                        prescale_factor=1.0, postscale_factor=1.0):
    """Starts reducescatter(); returns a handle for poll() and synchronize()."""
    work = _scatter_work("reducescatter", [tensor], name, op, (prescale_factor, postscale_factor),
                         process_set)
    return handles.begin(process_set, "reducescatter", name, handles.first_of(work))


def grouped_reducescatter_async(tensors, name=None, op=Average, process_set=global_process_set,
                                prescale_factor=1.0, postscale_factor=1.0):
    """Like reducescatter_async, for a list of tensors: the handle gives a list."""
    work = _scatter_work("grouped_reducescatter", list(tensors), name, op,
                         (prescale_factor, postscale_factor), process_set)
    return handles.begin(process_set, "grouped_reducescatter", name, work)


class _Reducescatter(torch.autograd.Function):
    """Sums and means. The gradient of a tensor is all workers' gradients of its rows, times the
    factors; the gradient of a sum is also multiplied by the number of workers, as in Horovod."""

    @staticmethod
    def forward(ctx, kind, name, op, factors, process_set, *tensors):
        """New tensors."""
        ctx.how = kind, name, op, factors, process_set
        work = _scatter_work(kind, tensors, name, op, factors, process_set)
        return tuple(handles.run(process_set, kind, name, work))

    @staticmethod
    def backward(ctx, *gradients):
        """The gradients, under a name of their own."""
        kind, name, op, factors, process_set = ctx.how
        reductions.check_linear(op, kind)
        factor = factors[0] * factors[1] * (process_set.size() if op == Sum else 1)
        scaled = [reductions.scaled(gradient, factor) for gradient in gradients]
        return (None, None, None, None, None,
                *grouped_allgather(scaled, exchange.gradient_name(name), process_set))


def _reducescattered(kind, tensors, name, compression, op, factors, process_set):
    op = reductions.chosen(op, None)
    small, contexts = zip(*(compression.compress(tensor) for tensor in tensors))
    reduced = _Reducescatter.apply(kind, name, op, factors, process_set, *small)
    return [compression.decompress(tensor, context) for tensor, context in zip(reduced, contexts)]


def reducescatter(tensor, name=None, compression=Compression.none, op=Average,
                  process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0):
    """This worker's rows of the mean of the tensor over all workers, or of `op` Sum, Min, Max or
    Product. Workers get equal numbers of rows, and the first workers one more each from the
    remainder. Factors as in allreduce(). Raises Mismatch at all workers if op, type or shape
    differ, InvalidArgument for a tensor without dimensions."""
    return _reducescattered("reducescatter", [tensor], name, compression, op,
                            (prescale_factor, postscale_factor), process_set)[0]


def grouped_reducescatter(tensors, name=None, compression=Compression.none, op=Average,
                          process_set=global_process_set, prescale_factor=1.0,
                          postscale_factor=1.0):
    """Like reducescatter, for a list of tensors; returns a list."""
    tensors = list(tensors)
    if not tensors:
        return []
    return _reducescattered("grouped_reducescatter", tensors, name, compression, op,
                            (prescale_factor, postscale_factor), process_set)
