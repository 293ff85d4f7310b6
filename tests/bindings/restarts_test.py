# SPDX-License-Identifier: Apache-2.0
"""A lost worker of an elastic job is replaced, and its replacement gets parameters and the
optimizer's state from the others (restarting_worker.py)."""

import re
import unittest

import jobs


class Restarts(jobs.PythonTest):

    def ends(self, way, loses, restarts, says=""):
        """The last output of all members at the end. A replacement prints `says`."""
        job = self.python("restarting_worker.py", way, loses, workers="1:3",
                          flags=("--restarts", restarts))
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        self.assertEqual(job.output().count(" is started for it"), restarts, job.output())
        ends = re.findall(r"\] end (.*)", job.output())
        self.assertEqual(len(ends), 3, job.output())
        self.assertEqual(len(set(ends)), 1, job.output())
        if says:
            self.assertIn(f"[worker {2 + restarts}] stretto: {says}", job.output())
        self.assert_nobody_left()
        return ends[0]

    def test_an_unchanged_loop_goes_on(self):
        _, rate, accuracy = self.ends("loop", loses=0, restarts=3).split()
        self.assertEqual(rate, "0.2")
        self.assertGreater(float(accuracy), 0.9)

    def test_what_newcomers_lack_comes_while_the_others_go_on(self):
        for way in ("heal", "clip"):
            with self.subTest(way):
                _, rate, accuracy = self.ends(way, loses=0, restarts=3).split()
                self.assertEqual(rate, "0.005")
                self.assertGreater(float(accuracy), 0.9)

    def test_a_module_with_an_unwrapped_optimizer_goes_on(self):
        _, rate, accuracy = self.ends(
            "parallel", loses=0, restarts=3,
            says="this worker has come into a job that trains by DistributedDataParallel: it has "
            "the others' parameters and buffers, and the state of Adam. What").split()
        self.assertEqual(rate, "0.005")
        self.assertGreater(float(accuracy), 0.9)

    def test_workers_come_into_modes_other_than_sync(self):
        for mode in jobs.one_of("eager", "bounded", "async", "eager_async"):
            with self.subTest(mode):
                _, rate, accuracy = self.ends(
                    mode, loses=1, restarts=1,
                    says=f"this worker has come into a job that trains in mode {mode}: it goes on "
                    "from the servers' values, with the optimizer's state (Adam) of worker 0,"
                ).split()
                self.assertEqual(rate, "0.005")
                self.assertGreater(float(accuracy), 0.8)

    def test_a_program_with_a_state_goes_on(self):
        self.assertRegex(self.ends("state", loses=1, restarts=1), r"\[2, 3\]$")

    def test_a_module_in_a_state_goes_on(self):
        self.ends("parallel_state", loses=1, restarts=1)


if __name__ == "__main__":
    unittest.main()
