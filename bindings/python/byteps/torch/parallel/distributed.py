# SPDX-License-Identifier: Apache-2.0
"""byteps.torch.parallel.distributed: a module whose backward leaves mean gradients."""

from stretto.torch.core.compression import Compression
from stretto.torch.optim import parallel


class DistributedDataParallel(parallel.DistributedDataParallel):
    """As stretto.torch.DistributedDataParallel; wants exactly one device id, as BytePS's does,
    which on CPUs says nothing: [0]."""

    def __init__(self, module, device_ids=None, broadcast_buffers=True,
                 compression=Compression.none):
        if device_ids is None or len(device_ids) != 1:
            raise AssertionError("DistributedDataParallel device_ids should contain exactly "
                                 f"one entry, but got {device_ids}")
        super().__init__(module, device_ids, broadcast_buffers, compression)
