# SPDX-License-Identifier: Apache-2.0
"""A training loop without fault handling continues when workers of an elastic job are killed: by
the mean of the remaining workers, and equal at all of them."""

import os
import re
import signal
import sys
import tempfile
import unittest

import jobs


class Losses(jobs.PythonTest):

    def test_training_goes_on_with_who_is_left(self):
        self.train("servers")

    def test_so_it_does_among_workers(self):
        self.train("ring")

    def test_servers_are_lost_too_where_others_stand_by(self):
        """A server alone, and a server together with a worker."""
        with tempfile.TemporaryDirectory() as folder:
            until = os.path.join(folder, "stop")
            job = self.python("losing_worker.py", until, "servers", workers="1:3", servers=2,
                              flags=("--replicas", 2))
            for number in range(3):
                job.expect(rf"\[worker {number}\] step 5 by \[2.0\]", jobs.TORCH_PATIENCE)
            os.kill(job.member("server 0"), signal.SIGKILL)
            job.expect("server 0 is lost: .*; server 2, which stood by, has its place")
            since = len(job.lines)
            for number in range(3):
                job.expect(rf"\[worker {number}\] step \d+ by \[2.0\]", count=2, since=since)
            for name in ("server 1", "worker 0"):
                os.kill(job.member(name), signal.SIGKILL)
            job.expect("server 1 is lost: .*; server 3, which stood by, has its place")
            job.expect(r"\[worker 1\] step \d+ by \[2.5\] rank 0 of 2$")
            job.expect(r"\[worker 2\] step \d+ by \[2.5\] rank 1 of 2$")
            with open(until, "w", encoding="ascii"):
                pass
            self.assertEqual(job.end(), 0, job.output())
            ends = re.findall(r"done at (\S+)", job.output())
            self.assertEqual(len(ends), 2, job.output())
            self.assertEqual(len(set(ends)), 1, job.output())
            self.assert_nobody_left()

    def test_a_worker_is_lost_with_the_shell_that_has_started_it(self):
        """Only the shell is killed, not its program."""
        self.train("servers", shell=("/bin/sh", "-c", '"$@"; exit $?', "sh"))

    def train(self, exchange, shell=()):
        """One of three workers is killed."""
        with tempfile.TemporaryDirectory() as folder:
            until = os.path.join(folder, "stop")
            job = self.launch(*shell, sys.executable, jobs.HERE / "losing_worker.py", until,
                              exchange, workers="1:3", servers=2)
            for number in range(3):
                job.expect(rf"\[worker {number}\] step 5 by \[2.0\]", jobs.TORCH_PATIENCE)
            os.kill(job.member("worker 0"), signal.SIGKILL)
            job.expect(r"\[worker 1\] step \d+ by \[2.5\] rank 0 of 2$")
            job.expect(r"\[worker 2\] step \d+ by \[2.5\] rank 1 of 2$")
            with open(until, "w", encoding="ascii"):
                pass
            self.assertEqual(job.end(), 0, job.output())
            ends = re.findall(r"done at (\S+)", job.output())
            self.assertEqual(len(ends), 2, job.output())
            self.assertEqual(len(set(ends)), 1, job.output())
            self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
