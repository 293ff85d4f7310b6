# SPDX-License-Identifier: Apache-2.0
"""Modules and optimizers that change after they were wrapped, or that are wrapped again
(wrappers_worker.py): each worker exchanges the same gradients at the same time.
"""

import unittest

import jobs


class Wrappers(jobs.PythonTest):

    def test_moved_modules_exchange_gradients(self):
        self.assert_done(self.python("wrappers_worker.py", "Moved"))

    def test_dropped_wrappers_exchange_nothing(self):
        self.assert_done(self.python("wrappers_worker.py", "Dropped"))

    def test_complex_tensors_are_copied(self):
        for workers in (2, "2:2"):
            self.assert_done(self.python("wrappers_worker.py", "Complex", workers=workers))

    def test_batch_whose_backward_raised_is_skipped(self):
        self.assert_done(self.python("wrappers_worker.py", "Raised"))


if __name__ == "__main__":
    unittest.main()
