# SPDX-License-Identifier: Apache-2.0
"""BYTEPS_ENABLE_ASYNC=1: no worker waits for another."""

import warnings

import stretto.torch as st
from byteps.torch.compression import Compression
from stretto import environment


def enabled():
    """True if the environment asks for it."""
    return environment.truth("BYTEPS_ENABLE_ASYNC")


def make(optimizer, named_parameters, compression):
    """The optimizer, wrapped in mode async. AssertionError if there is only one worker. Updates are
    sent uncompressed; a compression is ignored with a warning."""
    if compression is not Compression.none:
        warnings.warn("with BYTEPS_ENABLE_ASYNC=1 updates travel without compression",
                      RuntimeWarning, stacklevel=3)
    if st.size() <= 1:
        raise AssertionError("Async is only valid for distributed training: DMLC_NUM_WORKER must "
                             "be greater than 1")
    print("BytePS: enable asynchronous training")
    return st.DistributedOptimizer(optimizer, named_parameters, mode="async", lr_rule="constant")
