# SPDX-License-Identifier: Apache-2.0
"""The calls of byteps.torch and stretto.torch among several workers (exchange_worker.py)."""

import unittest

import jobs


class Exchange(jobs.PythonTest):

    def test_two_workers(self):
        self.assert_done(self.python("exchange_worker.py"))

    def test_three_workers_over_tcp(self):
        job = self.python("exchange_worker.py", workers=3, servers=1, STRETTO_TRANSPORT="zmq")
        self.assert_done(job, workers=3)


if __name__ == "__main__":
    unittest.main()
