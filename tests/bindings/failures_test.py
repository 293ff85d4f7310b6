# SPDX-License-Identifier: Apache-2.0
"""What Python programs see when something goes wrong: an exception that names it, within seconds,
and never a hang.
"""

import os
import signal
import time
import unittest

import jobs

SECONDS = 20.0  # Far beyond what is promised, far below any timeout.


class Failures(jobs.PythonTest):

    def assert_ends_soon(self, job, started):
        status = job.end(SECONDS)
        self.assertLess(time.monotonic() - started, SECONDS)
        self.assert_nobody_left()
        return status

    def kill_in_training(self, member):
        job = self.python("failing_worker.py", "endless")
        job.expect(r"\[worker 0\] progress", jobs.TORCH_PATIENCE)
        job.expect(r"\[worker 1\] progress", jobs.TORCH_PATIENCE)
        started = time.monotonic()
        os.kill(job.member(member), signal.SIGKILL)
        self.assertEqual(self.assert_ends_soon(job, started), 128 + signal.SIGKILL, job.output())
        return job

    def test_a_worker_is_killed(self):
        job = self.kill_in_training("worker 1")
        job.expect(r"\[worker 0\] stretto.errors.PeerLost: .*worker 1")

    def test_who_sits_out_is_killed_and_who_trains_meanwhile(self):
        for lost, left in ((1, 0), (0, 1)):
            job = self.python("failing_worker.py", "sits_out")
            for _ in range(3):
                job.expect(r"\[worker 0\] progress", jobs.TORCH_PATIENCE)
            started = time.monotonic()
            os.kill(job.member(f"worker {lost}"), signal.SIGKILL)
            self.assertEqual(self.assert_ends_soon(job, started), 128 + signal.SIGKILL)
            job.expect(rf"\[worker {left}\] stretto.errors.PeerLost: .*worker {lost}")

    def test_a_server_is_killed(self):
        job = self.kill_in_training("server 1")
        for rank in range(2):
            job.expect(rf"\[worker {rank}\] stretto.errors.(ServerLost|PeerLost).*server 1")

    def test_the_scheduler_is_killed(self):
        job = self.kill_in_training("scheduler")
        for rank in range(2):
            job.expect(rf"\[worker {rank}\] stretto.errors.SchedulerLost")

    def test_an_exception_ends_the_job(self):
        for how in ("raises", "raises_eagerly"):
            job = self.python("failing_worker.py", how)
            job.expect("KeyError: \"a bug of the user's\"", jobs.TORCH_PATIENCE)
            self.assertEqual(self.assert_ends_soon(job, time.monotonic()), 1, job.output())

    def test_an_exit_midway_ends_the_job(self):
        job = self.python("failing_worker.py", "exits")
        job.expect(r"\[worker 1\] exits", jobs.TORCH_PATIENCE)
        started = time.monotonic()
        job.expect(r"\[worker 1\] stretto: while leaving the job: Timeout: .*has not ended in 10 s")
        self.assertEqual(self.assert_ends_soon(job, started), 7, job.output())

    def test_sizes_that_differ(self):
        job = self.python("failing_worker.py", "differs")
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 3, job.output())
        for rank in range(2):
            line = job.expect(rf"\[worker {rank}\] mismatch: .*'push_pull.x'.*").string
            self.assertIn("worker 0 declared f32[10]", line)
            self.assertIn("worker 1 declared f32[11]", line)

    def test_a_loop_that_ends_early(self):
        job = self.python("failing_worker.py", "ends_early", STRETTO_STALL_ERROR_S=3)
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        for rank, mine, theirs in ((0, "step", "metric"), (1, "metric", "step")):
            job.expect(rf"\[worker {rank}\] timeout: .*push_pull.{mine}.*; meanwhile worker "
                       rf"{1 - rank} waits in push_pull 'push_pull.{theirs}'")

    def test_workers_wait_for_one_that_pauses(self):
        job = self.python("failing_worker.py", "pauses", STRETTO_STALL_ERROR_S=4,
                          STRETTO_OPERATION_TIMEOUT_S=4)
        self.assert_done(job)

    def test_a_name_for_two_sizes(self):
        job = self.python("failing_worker.py", "names_twice")
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        for rank in range(2):
            job.expect(rf"\[worker {rank}\] mismatch: .*'push_pull.x': worker [01] declared "
                       r"f32\[10\] .*before, and f32\[11\] .*now")

    def test_gradients_that_are_put_together_otherwise(self):
        job = self.python("failing_worker.py", "codes_alone")
        line = job.expect(r"worker [01] has other gradients in optimizer 1 than we.*",
                          jobs.TORCH_PATIENCE).string
        self.assertIn("stretto.errors.Mismatch", line)
        self.assertRegex(line, r"STRETTO_CODEC \('\*=onebit'\) is not t?here")
        self.assertEqual(self.assert_ends_soon(job, time.monotonic()), 1, job.output())

    def test_forks(self):
        self.assert_done(self.python("failing_worker.py", "forks"))
        self.assert_done(self.python("failing_worker.py", "forks_first"))

    def test_ctrl_c(self):
        job = self.python("failing_worker.py", "interrupted", forks=False)
        job.expect(r"\[worker 0\] at a barrier", jobs.TORCH_PATIENCE)
        jobs.cluster.wait_until_blocked(job.member("worker 0"))
        os.kill(job.member("worker 0"), signal.SIGINT)
        job.expect(r"\[worker 0\] heard$", SECONDS)
        job.expect(r"\[worker 0\] .*Cancelled: barrier was ended by KeyboardInterrupt", SECONDS)
        self.assertNotEqual(self.assert_ends_soon(job, time.monotonic()), 0)
        self.assertIn("refused", job.lines_of("worker 0"))

    def test_ctrl_c_while_joining(self):
        process = self.alone(jobs.HERE / "failing_worker.py", "joins",
                             STRETTO_SCHEDULER="127.0.0.1:9", STRETTO_WORLD_SIZE=2, STRETTO_RANK=0)
        process.expect("joining", jobs.TORCH_PATIENCE)
        process.send(signal.SIGINT)
        self.assertEqual(process.end(SECONDS), 128 + signal.SIGINT, process.output())
        process.expect("refused")

    def test_nobody_there(self):
        process = self.alone(jobs.HERE / "failing_worker.py", "endless",
                             STRETTO_SCHEDULER="127.0.0.1:9", STRETTO_WORLD_SIZE=2,
                             STRETTO_RANK=0, STRETTO_RENDEZVOUS_TIMEOUT_S=1)
        self.assertEqual(process.end(jobs.TORCH_PATIENCE), 1)
        process.expect("stretto.errors.RendezvousTimeout: .*127.0.0.1:9")

    def test_environments_that_make_no_sense(self):
        for words, variables in (
                ("no scheduler is named", {"DMLC_NUM_WORKER": 2}),
                ("DMLC_NUM_WORKER is 'two', wanted a whole number", {"DMLC_NUM_WORKER": "two"}),
                ("rank is 2, but there are only 2", {
                    "STRETTO_RANK": 2, "STRETTO_WORLD_SIZE": 2, "STRETTO_SCHEDULER": "h:1"})):
            process = self.alone("-c", "import stretto.torch; stretto.torch.init()", **variables)
            self.assertEqual(process.end(jobs.TORCH_PATIENCE), 1)
            process.expect("stretto.errors.InvalidArgument: .*" + words)


if __name__ == "__main__":
    unittest.main()
