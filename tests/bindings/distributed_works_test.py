# SPDX-License-Identifier: Apache-2.0
"""Calls in flight of backend "stretto", without a job."""

import unittest

import jobs

jobs.use_packages()

from stretto.torch.distributed import works  # pylint: disable=wrong-import-position


class Works(unittest.TestCase):

    def test_future_of_no_tensors_is_done(self):
        work = works.Work("reduce_scatter_tensor_coalesced", [], 1.0, [], ())
        self.assertTrue(work.wait())
        self.assertEqual(work.get_future().wait(), [])


if __name__ == "__main__":
    unittest.main()
