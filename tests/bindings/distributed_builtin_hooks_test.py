# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own communication hooks for groups of backend "stretto"."""

import unittest
import unittest.mock
import warnings

import jobs

jobs.use_packages()

import torch.distributed as dist  # pylint: disable=wrong-import-position
from torch.nn.parallel import DistributedDataParallel  # pylint: disable=wrong-import-position

from stretto.torch.distributed import ProcessGroup  # pylint: disable=wrong-import-position


class BuiltinHooks(unittest.TestCase):

    def test_hook_is_registered_without_warning(self):
        module = unittest.mock.Mock(process_group=unittest.mock.Mock(spec=ProcessGroup))
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            DistributedDataParallel._register_builtin_comm_hook(
                module, dist.BuiltinCommHookType.FP16_COMPRESS)
        self.assertEqual([str(warning.message) for warning in given], [])
        (group, hook), _ = module.register_comm_hook.call_args
        self.assertEqual((group, hook.__name__), (module.process_group, "fp16_compress_hook"))


if __name__ == "__main__":
    unittest.main()
