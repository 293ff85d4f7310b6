# SPDX-License-Identifier: Apache-2.0
"""Derivatives through exchanges, of first and second order (derivatives_worker.py)."""

import unittest

import jobs


class Derivatives(jobs.PythonTest):

    def test_two_workers(self):
        self.assert_done(self.python("derivatives_worker.py"))

    def test_three_workers_without_servers(self):
        self.assert_done(self.python("derivatives_worker.py", workers=3, servers=0), workers=3)


if __name__ == "__main__":
    unittest.main()
