# SPDX-License-Identifier: Apache-2.0
"""push_pull, allgather and broadcast as functions that gradients flow through, of any order:
backward() consists of such functions. It exchanges again, so either every worker calls it or none.
"""

from typing import Optional, Type

import torch

from stretto import session, unfinished
from stretto.closing import Exchange
from stretto.torch.core import compression as compressions
from stretto.torch.core import wire
from stretto.torch.core import exchange as exchanges


class PushPull(torch.autograd.Function):
    """The sum or mean over all workers. Its gradient is the sum or mean of theirs."""

    @staticmethod
    def forward(ctx, tensor, average, name, priority, codec, way, compared=True):
        """A new tensor."""
        ctx.how = average, name, priority, codec, way, compared
        output = torch.empty_like(tensor)
        return exchanges.begin(tensor, output, name, average, priority, codec, compared, way).wait()

    @staticmethod
    @unfinished.whole("backward through push_pull")
    def backward(ctx, *gradients):
        """The gradient, under a name of its own."""
        average, name, *how = ctx.how
        summed = PushPull.apply(gradients[0].contiguous(), average, exchanges.gradient_name(name),
                                *how)
        return summed, None, None, None, None, None, None


def only_if(here, gradient):
    """The gradient, or elsewhere zeros, through which its own gradients still flow: for these,
    every worker exchanges."""
    return gradient if here else gradient.masked_fill(torch.tensor(True, device=gradient.device), 0)


@unfinished.whole("push_pull")
def push_pull(tensor: torch.Tensor, name: str, average: bool = True, priority: int = 0,
              compression: Type[compressions.Compressor] = compressions.Compression.none,
              exchange: Exchange = None) -> torch.Tensor:
    """The sum of `tensor` over all workers, or with `average` the mean (of whole numbers rounded
    down), as a new tensor. All workers must use the name for tensors of the same size and type, and
    exchange one name in the same order. `exchange` is the strategy, as for DistributedOptimizer.
    Waits; raises a stretto.Error on failure."""
    if wire.name_as_it_is(tensor) is None:
        wire.check(tensor)
    small, context = compression.compress(tensor)
    codec = compressions.codec_of(compression, small)
    if small.requires_grad and torch.is_grad_enabled():
        summed = PushPull.apply(small, average, name, priority, codec, exchange)
    else:  # Autograd's bookkeeping costs as much as all the rest here.
        source = wire.without_gradient(small)
        summed = exchanges.begin(source, torch.empty_like(source), name, average, priority,
                                codec, way=exchange).wait()
    return compression.decompress(summed, context)


class Gather(torch.autograd.Function):
    """All-gather. The gradient of a worker's tensor is the sum of all workers' gradients for that
    tensor."""

    @staticmethod
    def forward(ctx, tensor, name):
        """A new tensor."""
        everybody, rows = exchanges.gather(tensor, name)
        seat = session.current().seat
        ctx.name, ctx.first, ctx.rows = name, sum(rows[:seat]), rows[seat]
        return everybody

    @staticmethod
    @unfinished.whole("backward through allgather")
    def backward(ctx, *gradients):
        """The gradient, under its own name for each type: as in forward, one name may serve for
        many shapes. All workers have the type of the gathered tensor."""
        gradient = gradients[0].contiguous()
        name = f"{exchanges.gradient_name(ctx.name)}.{wire.type_name(gradient)}"
        summed = PushPull.apply(gradient, False, name, 0, None, None, False)
        return summed[ctx.first:ctx.first + ctx.rows], None


@unfinished.whole("allgather")
def allgather(tensor: torch.Tensor, name: Optional[str] = None) -> torch.Tensor:
    """The tensors of all workers, concatenated along their first dimension, in which they may
    differ; other differences raise Mismatch at all workers. A 0-d tensor counts as one of a single
    element. Gradients flow through it."""
    wire.check(tensor)
    now = session.current()
    if tensor.dim() == 0:
        tensor = tensor.reshape(1)
    if now.alone:
        return tensor.clone()
    # Unnamed calls share one name, so that a different type or shape is reported to the others.
    return Gather.apply(tensor, f"Allgather.{name or 'unnamed'}")


def _begin_broadcast(tensor, root, name, compared):
    exchanges.check_root(root)
    if not compared:
        exchanges.check_unnamed(tensor, name)
    return exchanges.begin_broadcast(tensor, root, name, compared)


class Broadcast(torch.autograd.Function):
    """The tensor of one worker. Its gradient there is the sum of all workers', elsewhere zero."""

    @staticmethod
    def forward(ctx, tensor, root, name, compared):
        """A new tensor."""
        ctx.root, ctx.name, ctx.compared = root, name, compared
        return _begin_broadcast(tensor.clone(), root, name, compared).wait()

    @staticmethod
    @unfinished.whole("backward through broadcast")
    def backward(ctx, *gradients):
        """The gradient, under a name of its own."""
        gradient = gradients[0].contiguous()
        name = exchanges.gradient_name(ctx.name)
        summed = PushPull.apply(gradient, False, name, 0, None, None, ctx.compared)
        return only_if(session.current().rank == ctx.root, summed), None, None, None


@unfinished.whole("broadcast")
def broadcast(tensor: torch.Tensor, root_rank: int = 0,
              name: Optional[str] = None) -> torch.Tensor:
    """A new tensor: `tensor` of the worker `root_rank`. Gradients flow through it, to that
    worker."""
    wire.check(tensor)
    label = f"Broadcast.{name or exchanges.unnamed(tensor)}"
    return Broadcast.apply(tensor, root_rank, label, name is not None)


@unfinished.whole("broadcast")
def broadcast_(tensor: torch.Tensor, root_rank: int = 0,
               name: Optional[str] = None) -> torch.Tensor:
    """Copies `tensor`, in place, from the worker `root_rank`; returns it. Autograd does not follow
    that."""
    wire.check(tensor)
    label = f"Broadcast.{name or exchanges.unnamed(tensor)}"
    return _begin_broadcast(tensor, root_rank, label, name is not None).wait()
