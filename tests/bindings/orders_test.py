# SPDX-License-Identifier: Apache-2.0
"""Orders of layers that a program gives (orders_worker.py)."""

import unittest

import jobs


class Orders(jobs.PythonTest):

    def test_two_workers(self):
        self.assert_done(self.python("orders_worker.py"))

    def test_orders_that_differ_are_refused(self):
        job = self.python("orders_worker.py", "differs")
        self.assertNotEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        job.expect("Mismatch: .*order of layers")


if __name__ == "__main__":
    unittest.main()
