# SPDX-License-Identifier: Apache-2.0
"""byteps.torch on Stretto: `import byteps.torch as bps`, and the script stays unchanged.

Differences from BytePS: sums are right at any speed of the workers, a failed worker ends its peers
with an error within seconds, and the optional arguments exist that BytePS's users asked for. See
stretto.torch for more.
"""

import collections
import io
import os
from contextlib import contextmanager

import torch

import stretto.torch as _st
from byteps.torch import asynchronous as _asynchronous
from byteps.torch import ops, parallel
from byteps.torch import staleness as _staleness
from byteps.torch.compression import Compression
from byteps.torch.ops import (declare, init, poll, push_pull, resume, shutdown, suspend,
                              synchronize)
from byteps.torch.ops import push_pull_async_inplace as byteps_push_pull
from stretto.torch import (allgather, barrier, broadcast, broadcast_object,
                           broadcast_optimizer_state, is_initialized, local_rank, local_size, rank,
                           size)
from stretto.torch.core import compression as _compression

try:
    import cloudpickle
except ImportError:  # This package does not need it; scripts may.
    cloudpickle = None

__all__ = [
    "Compression", "DistributedOptimizer", "allgather", "barrier", "broadcast",
    "broadcast_object", "broadcast_optimizer_state", "broadcast_parameters", "byteps_push_pull",
    "declare", "init", "is_initialized", "local_rank", "local_size", "poll", "push_pull", "rank",
    "resume", "shutdown", "size", "suspend", "synchronize",
]


def broadcast_parameters(params, root_rank, prefix="Parameter."):
    """Sets a state_dict(), or a list of tensors or (name, tensor), to the values of worker
    `root_rank`. Raises ValueError for any other type."""
    if not isinstance(params, (dict, list)):
        raise ValueError(f"invalid params of type: {type(params)}")
    _st.broadcast_parameters(params, root_rank, prefix)


def DistributedOptimizer(optimizer, named_parameters=None, compression=Compression.none,
                         backward_passes_per_step=1, staleness=0, pipesgd_warmup_iter=0,
                         model=None, compression_params=None, pre_scale_factor=1,
                         post_scale_factor=1):
    """Wraps an optimizer so that all workers train one model on the mean of their gradients.

    staleness, pipesgd_warmup_iter  1: each step applies the mean gradients of the previous step
                                    without waiting, except the first pipesgd_warmup_iter steps
    model                           accepted for compatibility, and ignored
    compression_params              {"fp16": True} for Compression.fp16, or a codec: compressor, k,
                                    scaling, ef, momentum, mu, seed, partition, normalize
    pre_scale_factor, post_scale_factor  only 1
    With BYTEPS_ENABLE_ASYNC=1 every worker trains at its own pace, on parameters at the servers.
    """
    del model
    if pre_scale_factor != 1 or post_scale_factor != 1:
        raise ValueError("pre_scale_factor and post_scale_factor can only be 1; scale the loss")
    if staleness not in (0, 1):
        raise ValueError(f"staleness is {staleness!r}, wanted 0 or 1")
    compression = _compression.from_params(compression_params, compression)
    if _asynchronous.enabled():
        return _asynchronous.make(optimizer, named_parameters, compression)
    wrapped = _st.DistributedOptimizer(optimizer, named_parameters, compression,
                                       backward_passes_per_step)
    if staleness:
        return _staleness.make(optimizer, wrapped, pipesgd_warmup_iter, compression)
    return wrapped
