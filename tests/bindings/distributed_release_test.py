# SPDX-License-Identifier: Apache-2.0
"""Calls of torch.distributed that differ between releases of PyTorch, by backend "stretto". The
test is short, because tools/other-debian runs it in other releases of Debian.
"""

import unittest

import jobs


class Release(jobs.PythonTest):

    def test_calls(self):
        self.assert_done(self.python("distributed_release_worker.py", servers=0))


if __name__ == "__main__":
    unittest.main()
