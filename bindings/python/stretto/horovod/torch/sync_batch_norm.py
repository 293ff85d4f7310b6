# SPDX-License-Identifier: Apache-2.0
"""Horovod's SyncBatchNorm: batch normalization by the statistics of all workers' batches."""

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from stretto import session, unfinished
from stretto.horovod.torch.functional import allreduce
from stretto.horovod.torch.reductions import Sum

_NAME = "sync_batch_norm"


@unfinished.whole("SyncBatchNorm", always=True)
def _statistics(values):
    """Rows, means and variances, by channel, over all workers. Variances come from the differences
    to the means, because squares of large numbers would lose precision. Gradients flow through
    both, so each worker gets the gradients of the sum of all losses."""
    dims = [dim for dim in range(values.dim()) if dim != 1]
    rows = values.new_tensor([values.numel() // values.size(1)])
    sums = allreduce(torch.cat([rows, values.sum(dims)]), op=Sum, name=f"{_NAME}.sums")
    rows, means = sums[0].detach(), sums[1:] / sums[0].detach()
    off = values - _by_channel(means, values)
    squares = allreduce((off * off).sum(dims), op=Sum, name=f"{_NAME}.squares")
    return rows, means, squares / rows, off


def _by_channel(numbers, values):
    return numbers.view([1, -1] + [1] * (values.dim() - 2))


class SyncBatchNorm(_BatchNorm):
    """torch.nn.BatchNorm1d, 2d or 3d, over the batches of all workers in training. forward and
    backward exchange, so all workers must call them equally often. CPUs are supported too."""

    def _check_input_dim(self, input):  # pylint: disable=redefined-builtin
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input):  # pylint: disable=redefined-builtin
        """The input, normalized."""
        if session.current().size == 1 or not (self.training or self.running_mean is None):
            return super().forward(input)
        self._check_input_dim(input)
        values = input.to(torch.promote_types(input.dtype, torch.float32))
        rows, means, variances, off = _statistics(values)
        if self.training and self.track_running_stats:
            self._follow(rows, means.detach(), variances.detach())
        normal = off * _by_channel(torch.rsqrt(variances + self.eps), values)
        if self.affine:
            normal = normal * _by_channel(self.weight, values) + _by_channel(self.bias, values)
        return normal.to(input.dtype)

    def _follow(self, rows, means, variances):
        self.num_batches_tracked.add_(1)
        weight = self.momentum
        if weight is None:
            weight = 1.0 / float(self.num_batches_tracked)
        self.running_mean.lerp_(means.to(self.running_mean.dtype), weight)
        unbiased = variances * (rows / (rows - 1).clamp(min=1))
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), weight)
