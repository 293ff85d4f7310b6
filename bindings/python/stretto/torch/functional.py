# SPDX-License-Identifier: Apache-2.0
"""push_pull as a function that gradients flow through."""

from typing import Type

import torch

from stretto.torch import compression as compressions
from stretto.torch import exchange, wire


class PushPull(torch.autograd.Function):
    """The sum or mean over all workers. Its gradient is the sum or mean of theirs."""

    @staticmethod
    def forward(ctx, tensor, average, name, priority, codec):
        """A new tensor."""
        ctx.how = average, name, priority, codec
        output = torch.empty_like(tensor)
        return exchange.begin(tensor, output, name, average, priority, codec).wait()

    @staticmethod
    def backward(ctx, *gradients):
        """The gradient, under a name of its own."""
        average, name, priority, codec = ctx.how
        gradient = gradients[0].contiguous()
        output = torch.empty_like(gradient)
        summed = exchange.begin(gradient, output, f"{name}.gradient", average, priority,
                                codec).wait()
        return summed, None, None, None, None


def push_pull(tensor: torch.Tensor, name: str, average: bool = True, priority: int = 0,
              compression: Type[compressions.Compressor] = compressions.Compression.none
              ) -> torch.Tensor:
    """The sum of `tensor` over all workers, or with `average` the mean (of whole numbers rounded
    down), as a new tensor. All workers must use the name for tensors of the same size and type,
    and exchange one name in the same order. Waits; raises a stretto.Error if it cannot be had."""
    if wire.name_as_it_is(tensor) is None:
        wire.check(tensor)
    small, context = compression.compress(tensor)
    codec = compressions.codec_of(compression, small)
    if small.requires_grad and torch.is_grad_enabled():
        summed = PushPull.apply(small, average, name, priority, codec)
    else:  # What autograd keeps books of costs as much as all the rest here.
        source = wire.without_gradient(small)
        summed = exchange.begin(source, torch.empty_like(source), name, average, priority,
                                codec).wait()
    return compression.decompress(summed, context)
