# SPDX-License-Identifier: Apache-2.0
"""A running worker automatically rejoins the elastic job that has expelled it
(returning_worker.py)."""

import os
import re
import signal
import tempfile
import unittest

import jobs

DEAD_AFTER_S = 3.0
APART = ("eager", "bounded", "async", "eager_async")  # Modes whose workers are not in step.


class Returning(jobs.PythonTest):

    @staticmethod
    def expect_another(job, pattern):
        """Waits for a new line like earlier ones."""
        count = len(re.findall(pattern, job.output(), re.MULTILINE))
        return job.expect(pattern, count=count + 1)

    @staticmethod
    def stop_one(job):
        """Stops worker 1 until the others have continued without it."""
        for number in range(3):
            job.expect(rf"\[worker {number}\] step \d+ rank {number} of 3$", jobs.TORCH_PATIENCE)
        stopped = Returning.process_of(job.member("worker 1"))
        os.kill(stopped, signal.SIGSTOP)
        job.expect(r"\[worker 0\] step \d+ rank \d of 2$")
        return stopped

    def returns(self, way, flags=()):
        """Worker 1 of three is stopped until the others have continued, and then resumed. Returns
        the last values of all."""
        with tempfile.TemporaryDirectory() as folder:
            until = os.path.join(folder, "stop")
            job = self.python("returning_worker.py", way, until, workers="1:3", flags=flags,
                              STRETTO_DEAD_AFTER_S=DEAD_AFTER_S)
            stopped = self.stop_one(job)
            os.kill(stopped, signal.SIGCONT)
            job.expect(r"\[worker 1\] stretto: this worker is in the job again")
            self.expect_another(job, r"\[worker 1\] step \d+ rank \d of 3$")
            step = self.expect_another(job, r"\[worker 0\] step (\d+) rank \d of 3$").group(1)
            with open(until + ".new", "w", encoding="ascii") as file:
                file.write(str(int(step) + 400) if way in APART else "")
            os.rename(until + ".new", until)
            self.assertEqual(job.end(), 0, job.output())
            self.assertIn("worker 1 is in the job again", job.lines_of("launcher"))
            ends = re.findall(r"done at (\S+)", job.output())
            self.assertEqual(len(ends), 3, job.output())
            self.assertEqual(len(set(ends)), 1, job.output())
            self.assert_nobody_left()
            return job

    def test_an_unchanged_loop(self):
        self.returns("loop")

    def test_gradients_that_go_among_workers(self):
        self.returns("ring")

    def test_with_more_than_comes_at_once(self):
        self.returns("heal")

    def test_steps_that_do_not_wait(self):
        self.returns("layerwise")

    def test_a_module_with_an_unwrapped_optimizer(self):
        self.returns("parallel")

    def test_modes_other_than_sync(self):
        for mode in jobs.one_of("eager", "bounded", "eager_async", "async"):
            with self.subTest(mode):
                self.returns(mode)

    def test_where_the_scheduler_is_gone_nobody_waits_for_it(self):
        with tempfile.TemporaryDirectory() as folder:
            job = self.python("returning_worker.py", "loop", os.path.join(folder, "stop"),
                              workers="1:3", STRETTO_DEAD_AFTER_S=DEAD_AFTER_S)
            stopped = self.stop_one(job)
            os.kill(job.member("scheduler"), signal.SIGKILL)
            os.kill(stopped, signal.SIGCONT)
            self.assertEqual(job.end(), 128 + signal.SIGKILL, job.output())
            for number in range(3):
                job.expect(rf"\[worker {number}\] stretto: this worker could not come in again: "
                           "SchedulerLost: join: nobody listens at ")
            self.assert_nobody_left()

    def test_a_program_with_a_state(self):
        job = self.returns("state")
        self.assertEqual(len(set(re.findall(r"made (\d+) steps", job.output()))), 1, job.output())


if __name__ == "__main__":
    unittest.main()
