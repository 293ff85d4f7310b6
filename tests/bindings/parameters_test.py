# SPDX-License-Identifier: Apache-2.0
"""Parameters of two names, frozen ones, and those with sparse gradients (parameters_worker.py)."""

import unittest

import jobs


class Parameters(jobs.PythonTest):

    def test_two_workers(self):
        self.assert_done(self.python("parameters_worker.py"))


if __name__ == "__main__":
    unittest.main()
