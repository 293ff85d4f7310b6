# SPDX-License-Identifier: Apache-2.0
"""push_pull, allgather and broadcast as functions that gradients flow through. Whoever calls
backward() through one of them exchanges again, so either every worker does or none.
"""

from typing import Optional, Type

import torch

from stretto import session
from stretto.closing import Exchange
from stretto.torch import compression as compressions
from stretto.torch import wire
from stretto.torch import exchange as exchanges


class PushPull(torch.autograd.Function):
    """The sum or mean over all workers. Its gradient is the sum or mean of theirs."""

    @staticmethod
    def forward(ctx, tensor, average, name, priority, codec, way):
        """A new tensor."""
        ctx.how = average, name, priority, codec, way
        output = torch.empty_like(tensor)
        return exchanges.begin(tensor, output, name, average, priority, codec, way=way).wait()

    @staticmethod
    def backward(ctx, *gradients):
        """The gradient, under a name of its own."""
        average, name, priority, codec, way = ctx.how
        gradient = gradients[0].contiguous()
        output = torch.empty_like(gradient)
        summed = exchanges.begin(gradient, output, exchanges.gradient_name(name), average, priority,
                                codec, way=way).wait()
        return summed, None, None, None, None, None


def push_pull(tensor: torch.Tensor, name: str, average: bool = True, priority: int = 0,
              compression: Type[compressions.Compressor] = compressions.Compression.none,
              exchange: Exchange = None) -> torch.Tensor:
    """The sum of `tensor` over all workers, or with `average` the mean (of whole numbers rounded
    down), as a new tensor. All workers must use the name for tensors of the same size and type,
    and exchange one name in the same order. `exchange` is the way that it goes, as for
    DistributedOptimizer. Waits; raises a stretto.Error if it cannot be had."""
    if wire.name_as_it_is(tensor) is None:
        wire.check(tensor)
    small, context = compression.compress(tensor)
    codec = compressions.codec_of(compression, small)
    if small.requires_grad and torch.is_grad_enabled():
        summed = PushPull.apply(small, average, name, priority, codec, exchange)
    else:  # What autograd keeps books of costs as much as all the rest here.
        source = wire.without_gradient(small)
        summed = exchanges.begin(source, torch.empty_like(source), name, average, priority,
                                codec, way=exchange).wait()
    return compression.decompress(summed, context)


class Gather(torch.autograd.Function):
    """The tensors of all workers. The gradient of each is the sum of all workers' gradients of
    it."""

    @staticmethod
    def forward(ctx, tensor, name):
        """A new tensor."""
        everybody, rows = exchanges.gather(tensor, name)
        seat = session.current().seat
        ctx.name, ctx.first, ctx.rows = name, sum(rows[:seat]), rows[seat]
        return everybody

    @staticmethod
    def backward(ctx, *gradients):
        """The gradient, under a name of its own for each type: as in forward, one name may serve
        for many shapes. All workers' have the one of what was gathered."""
        gradient = gradients[0].contiguous()
        name = f"{exchanges.gradient_name(ctx.name)}.{wire.type_name(gradient)}"
        summed = exchanges.begin(gradient, torch.empty_like(gradient), name, False, 0,
                                 compared=False).wait()
        return summed[ctx.first:ctx.first + ctx.rows], None


def allgather(tensor: torch.Tensor, name: Optional[str] = None) -> torch.Tensor:
    """The tensors of all workers, one after the other along their first dimension, in which they
    may differ; else all get a Mismatch. A 0-d tensor counts as one of a single element. Gradients
    flow through it."""
    wire.check(tensor)
    now = session.current()
    if tensor.dim() == 0:
        tensor = tensor.reshape(1)
    if now.alone:
        return tensor.clone()
    # One name for all without: of another type or shape, the others are to be told.
    return Gather.apply(tensor, f"Allgather.{name or 'unnamed'}")


def _begin_broadcast(tensor, root, name, compared):
    if not compared:
        exchanges.check_unnamed(tensor, name)
    return exchanges.begin_broadcast(tensor, root, name, compared)


class Broadcast(torch.autograd.Function):
    """What the tensor is at one worker. Its gradient there is the sum of all workers', elsewhere
    zero."""

    @staticmethod
    def forward(ctx, tensor, root, name, compared):
        """A new tensor."""
        ctx.root, ctx.name, ctx.compared = root, name, compared
        return _begin_broadcast(tensor.clone(), root, name, compared).wait()

    @staticmethod
    def backward(ctx, *gradients):
        """The gradient, under a name of its own."""
        gradient = gradients[0].contiguous()
        name = exchanges.gradient_name(ctx.name)
        summed = exchanges.begin(gradient, torch.empty_like(gradient), name, False, 0,
                                compared=ctx.compared).wait()
        here = session.current().rank == ctx.root
        return summed if here else torch.zeros_like(summed), None, None, None


def broadcast(tensor: torch.Tensor, root_rank: int = 0,
              name: Optional[str] = None) -> torch.Tensor:
    """A new tensor: what `tensor` is at the worker `root_rank`. Gradients flow through it, to
    that worker."""
    wire.check(tensor)
    label = f"Broadcast.{name or exchanges.unnamed(tensor)}"
    return Broadcast.apply(tensor, root_rank, label, name is not None)


def broadcast_(tensor: torch.Tensor, root_rank: int = 0,
               name: Optional[str] = None) -> torch.Tensor:
    """Makes `tensor`, in place, what it is at the worker `root_rank`; returns it. Autograd does
    not follow that."""
    wire.check(tensor)
    label = f"Broadcast.{name or exchanges.unnamed(tensor)}"
    return _begin_broadcast(tensor, root_rank, label, name is not None).wait()
