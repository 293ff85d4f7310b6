# SPDX-License-Identifier: Apache-2.0
"""Workers that have made the same steps and have other parameters are noticed
(divergence_worker.py)."""

import unittest

import jobs


class Divergence(jobs.PythonTest):

    def test_a_flipped_bit_is_noticed(self):
        job = self.python("divergence_worker.py", workers=3)
        self.assert_done(job, workers=3)
        self.assertIn("after step 8 worker 0 has other parameters than worker 1 though all have "
                      "made the same steps: '1.bias'; they get those of worker 1", job.output())


if __name__ == "__main__":
    unittest.main()
