# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of torch.distributed, which its package carries, with backend "stretto":

    PYTHONPATH=build/python python3 tests/bindings/pytorchs_own.py [-v] [TestDistBackend.test_NAME]

Three processes for each test, without a launcher. BACKEND=gloo runs them by gloo, for comparison.
It is no test of ours: docs/results/0034-pytorchs-own-tests.md has the expected results.
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
except ImportError:  # Debian lacks it; these tests need only a base class of it.
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
# Features that PyTorch's tests know of their own backends.
CASES = common_distributed.DistTestCases
for feature in ("ddp", "subgroup", "plugin"):
    CASES.backend_feature[feature].add("stretto")
CASES.backend_feature["gpu"] = {os.environ["BACKEND"]}  # NCCL is among these, and missing.
CASES.skip_collective["sendrecv anysource"].add("stretto")  # In groups of more than two.

from torch.testing._internal.distributed import distributed_test


class TestDistBackend(distributed_test.TestDistBackend,
                      distributed_test.DistributedTest._DistTestBase):
    """Each of PyTorch's tests, in its own processes."""

    def setUp(self):
        super().setUp()
        # PyTorch would spawn the ranks, and each would import PyTorch, which takes seconds.
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


if __name__ == "__main__":
    unittest.main()
