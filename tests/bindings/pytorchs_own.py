# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of torch.distributed, which its package carries, with backend "stretto":

    PYTHONPATH=build/python python3 tests/bindings/pytorchs_own.py [-v] [TestDistBackend.test_NAME]

Three processes for each test, without a launcher. BACKEND=gloo runs them by gloo, to compare with.
It is no test of ours: what is expected of it is in docs/results/0034-pytorchs-own-tests.md.
"""

# pylint: disable=wrong-import-position,unused-import

import os
import sys
import tempfile
import types
import unittest

os.environ.setdefault("BACKEND", "stretto")
os.environ.setdefault("WORLD_SIZE", "3")
os.environ.setdefault("TEMP_DIR", tempfile.gettempdir())
os.environ.pop("RANK", None)
try:
    import expecttest
except ImportError:  # Debian has none; these tests want no more of it than a base class.
    stand_in = types.ModuleType("expecttest")
    vars(stand_in).update(TestCase=unittest.TestCase, ACCEPT=True)
    sys.modules["expecttest"] = stand_in

import torch
from torch.testing._internal import common_distributed

import stretto.torch.distributed

try:  # ReplicatedTensor, which the tests of PyTorch 1 switch on, cannot be imported by Python 3.11.
    from torch.nn.parallel import _replicated_tensor_ddp_utils
    _replicated_tensor_ddp_utils._set_ddp_with_replicated_tensor = lambda value: None
except ImportError:
    pass
# What PyTorch's tests know of their own backends.
CASES = common_distributed.DistTestCases
for feature in ("ddp", "subgroup", "plugin"):
    CASES.backend_feature[feature].add("stretto")
CASES.backend_feature["gpu"] = {os.environ["BACKEND"]}  # NCCL is one of these, and not there.
CASES.skip_collective["sendrecv anysource"].add("stretto")  # In groups of more than two.

from torch.testing._internal.distributed import distributed_test


class TestDistBackend(distributed_test.TestDistBackend,
                      distributed_test.DistributedTest._DistTestBase):
    """Each test of theirs, in processes of its own."""

    def setUp(self):
        super().setUp()
        # PyTorch spawns them, and each imports PyTorch then, which takes seconds.
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


if __name__ == "__main__":
    unittest.main()
