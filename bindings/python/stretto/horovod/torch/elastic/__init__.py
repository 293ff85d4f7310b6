# SPDX-License-Identifier: Apache-2.0
"""Horovod's elastic training: stretto.torch.elastic, where it looks for it."""

from stretto.horovod.torch.elastic import sampler, state
from stretto.torch.elastic import (ElasticSampler, HorovodInternalError, HostsUpdatedInterrupt,
                                   ObjectState, State, TorchState, run)

__all__ = ["ElasticSampler", "HorovodInternalError", "HostsUpdatedInterrupt", "ObjectState",
           "State", "TorchState", "run", "sampler", "state"]
