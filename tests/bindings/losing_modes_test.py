# SPDX-License-Identifier: Apache-2.0
"""Training in every mode, by sparse gradients and layer by layer goes on when a worker is lost,
rank 0 too (losing_modes_worker.py)."""

import re
import unittest

import jobs


class LosingModes(jobs.PythonTest):

    def test_all_go_on(self):
        job = self.python("losing_modes_worker.py", workers="1:7", forks=False, PYTHONHASHSEED=1)
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        left = 7
        for way in ("layers", "sparse", "eager", "bounded", "opening", "async"):
            left -= 1
            ends = re.findall(rf"\] {way} (\S+)", job.output())
            self.assertEqual(len(ends), left, job.output())
            self.assertEqual(len(set(ends)), 1, job.output())
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
