# SPDX-License-Identifier: Apache-2.0
"""byteps.torch.cross_barrier: step() does not wait; the next forward starts with the gradients that
have arrived (see stretto.torch.optim.layerwise). Works with every optimizer that treats each
parameter separately; BytePS supported SGD, Adam and RMSprop.
"""

import stretto.torch as st
from byteps.torch import (broadcast_object, broadcast_optimizer_state, broadcast_parameters, init,
                          local_rank, local_size, rank, shutdown, size)
from byteps.torch.compression import Compression

__all__ = [
    "CrossBarrier", "broadcast_object", "broadcast_optimizer_state", "broadcast_parameters",
    "init", "local_rank", "local_size", "rank", "shutdown", "size",
]


def CrossBarrier(model, optimizer, named_parameters=None, compression=Compression.none,
                 backward_passes_per_step=1, num_steps=10**6):
    """The optimizer, wrapped so that step() only starts a step, which the model's next forward
    completes layer by layer. `num_steps` is ignored. A wrapped DistributedOptimizer no longer
    exchanges gradients itself."""
    del num_steps
    if hasattr(optimizer, "_stretto_original"):
        optimizer = optimizer._stretto_original
    named = list(named_parameters or model.named_parameters())
    return st.DistributedOptimizer(optimizer, named, compression, backward_passes_per_step,
                                   model=model)
