# SPDX-License-Identifier: Apache-2.0
"""A worker of an elastic job that gets SIGTERM leaves at the end of its step, and no output calls
that a loss (leaving_worker.py)."""

import collections
import re
import sys
import unittest

import jobs

# Its exception is its own cause.
CIRCLE = """
from stretto import _core, leaving
leaving._watch = _core.NoticeWatch(20)
leaving._leave_when_loader_ends()
error = KeyError("own cause")
raise error from error
"""

class Leaving(jobs.PythonTest):

    def ends(self, way, workers="1:3"):
        """The output of the job, which succeeds."""
        job = self.python("leaving_worker.py", way, workers=workers)
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        self.assertEqual(job.output().count("all steps"), 2, job.output())
        self.assert_nobody_left()
        return job.output()

    def assert_left(self, output):
        """Checks a graceful leave."""
        self.assertIn("[worker 1] stretto: this worker has left the job", output)
        self.assertNotIn("is lost", output)
        self.assertNotIn("goes on without it", output)

    def test_it_leaves_as_the_step_ends(self):
        output = self.ends("loop")
        self.assert_left(output)
        self.assertEqual(output.count("helper"), 1, output)

    def test_with_a_wrapped_module_it_leaves_before_the_next_forward(self):
        self.assert_left(self.ends("parallel"))

    def test_it_leaves_at_a_commit(self):
        output = self.ends("state")
        self.assert_left(output)
        seen = collections.Counter(number for line in re.findall(r"seen (.*)", output)
                                   for number in line.split())
        self.assertEqual(len(seen), 60, output)
        self.assertLessEqual(sum(seen.values()), 60 + 2 * 2, "but for what pads the epoch's end")

    def test_it_leaves_when_notice_ends_its_loader(self):
        output = self.ends("loader")
        self.assert_left(output)
        self.assertNotIn("Traceback", output)

    def test_exception_that_is_its_cause_is_shown(self):
        process = self.start("python", [sys.executable, "-c", CIRCLE])
        self.assertEqual(process.end(), 1, process.output())
        process.expect("KeyError: 'own cause'")

    def test_notice_comes_after_borrowed_handler(self):
        self.assert_left(self.ends("borrowed"))

    def test_worker_leaves_from_other_thread(self):
        output = self.ends("thread")
        self.assert_left(output)
        self.assertEqual(output.count("main thread goes on"), 2, output)

    def test_a_second_notice_ends_it(self):
        self.assertIn("worker 1 killed by SIGTERM; the job goes on without it", self.ends("twice"))

    def test_it_does_not_wait_for_ever(self):
        output = self.ends("late")
        self.assertIn("no end of a step within 0.2 s of SIGTERM, and ends now", output)
        self.assertIn("worker 1 (killed by SIGTERM)", output)

    def test_in_a_job_of_fixed_size_it_ends_at_once(self):
        job = self.python("leaving_worker.py", "loop", workers=3)
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 128 + 15, job.output())
        self.assertNotIn("has left the job", job.output())
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
