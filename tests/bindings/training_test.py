# SPDX-License-Identifier: Apache-2.0
"""Training by byteps.torch and stretto.torch (training_worker.py): bit-identical to
DistributedDataParallel over gloo, and workers that never diverge.
"""

import unittest

import jobs

LONG = 400.0  # Seconds for all training of one job, on a busy machine.


class Training(jobs.PythonTest):

    def test_two_workers(self):
        self.assert_done(self.python("training_worker.py", "--resnet"), seconds=LONG)

    def test_three_workers(self):
        """Without the tests equal to gloo only for two workers, whose sums have one order."""
        ours = [f"Training.{name}" for name in (
            "test_every_synchronous_way_is_the_same", "test_parallel_module",
            "test_other_modes", "test_staleness")]
        job = self.python("training_worker.py", *ours, workers=3)
        self.assert_done(job, workers=3, seconds=LONG)

    def test_two_optimizers(self):
        """Separate, because the first optimizers of a process matter."""
        self.assert_done(self.python("training_worker.py",
                                     "Training.test_names_of_two_optimizers_never_meet"))


if __name__ == "__main__":
    unittest.main()
