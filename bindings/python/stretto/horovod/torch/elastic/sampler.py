# SPDX-License-Identifier: Apache-2.0
"""As Horovod's module of that name."""

from stretto.torch.elastic.sampler import ElasticSampler

__all__ = ["ElasticSampler"]
