# SPDX-License-Identifier: Apache-2.0
"""Reads training data: many reads at a time, each sample once an epoch over all workers.

    from stretto.input import Reader

    reader = Reader(["a.tfrecord", "b.tfrecord"], shuffle=True, seed=1, rank=rank, world=size)
    for epoch in range(10):
        for record in reader:
            ...

docs/INPUT.md is the guide.
"""

from stretto.input.reader import Reader
from stretto.input.writing import write_tar, write_tfrecord

__all__ = ["Reader", "write_tar", "write_tfrecord"]
