# SPDX-License-Identifier: Apache-2.0
"""The digits example is killed after a checkpoint, and resumes with an undisturbed run's result."""

import pathlib
import tempfile
import unittest

import cluster

DIGITS = (cluster.BIN / "digits", "--epochs", 100, "--hidden", 32, "--deterministic")


class DigitsResume(cluster.ClusterTest):

    def figures(self, job):
        """The checksum of the parameters and the accuracy, by worker 0."""
        self.assertEqual(job.end(), 0, job.output())
        found = [line for line in job.lines_of("worker 0")
                 if line.startswith(("checksum=", "test_accuracy="))]
        self.assertEqual(len(found), 2, job.output())
        self.assert_nobody_left()
        return found

    def test_killed_run_resumes_with_same_figures(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        flags = ("--checkpoint", pathlib.Path(folder.name) / "run", "--checkpoint-every", "0.2s")
        job = self.launch(*DIGITS, servers=2, flags=flags)
        saved = int(job.expect(r"checkpoint \d+ of step (\d+) is complete$")[1])
        self.kill_all(job)
        job = self.launch(*DIGITS, servers=2, flags=flags)
        resumed = int(job.expect(r"\[worker 0\] resumed at step (\d+)$")[1])
        self.assertGreaterEqual(resumed, saved)
        disturbed = self.figures(job)
        self.assertEqual(disturbed, self.figures(self.launch(*DIGITS, servers=2)))


if __name__ == "__main__":
    unittest.main()
