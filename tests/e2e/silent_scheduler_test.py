# SPDX-License-Identifier: Apache-2.0
"""The scheduler is stopped while another member is killed, at default settings: the job makes
progress, whether the scheduler is replaced or continues before its members declare it lost."""

import os
import signal
import threading
import unittest

import cluster
import elastic_scheduler_returns_test
import scheduler_returns_test

RETURNING = cluster.BUILD / "tests" / "returning"
REPLICATING = cluster.BUILD / "tests" / "replicating"
REPLACED = r"\[launcher\] scheduler was lost to the job and killed; another is started"
PAUSE = 3.8  # Seconds: longer than a member's fault deadline, and less than the dead time.


def strike(job, victim, pauses):
    """Stops the scheduler and kills the victim; a scheduler that pauses continues."""
    members = job.members()
    os.kill(members["scheduler"], signal.SIGSTOP)
    os.kill(members[victim], signal.SIGKILL)
    if pauses:
        threading.Event().wait(PAUSE)
        os.kill(members["scheduler"], signal.SIGCONT)


class FixedJobs(scheduler_returns_test.SchedulerReturnsBase):
    def begin(self, program, *arguments, flags=()):
        job = self.launch(program, "--steps", 10**6, *arguments, workers=2, servers=2,
                          flags=("--restarts", 8, *flags))
        self.goes_on(job)
        return job

    def check(self, job, victim, pauses=False):
        strike(job, victim, pauses)
        if not pauses:
            job.expect(REPLACED)
        job.expect(rf"\[launcher\] {victim} .*; another is started in its place")
        self.goes_on(job, lines=10)
        self.assertEqual(self.so_far(job, "ERROR"), 0, job.output())
        self.assertNotIn("WRONG", job.output())
        self.assertEqual(self.so_far(job, "scheduler was lost"), 0 if pauses else 1)
        self.kill_all(job)

    def test_server_of_sums_is_killed(self):
        self.check(self.begin(RETURNING), "server 0")

    def test_server_of_sums_is_killed_in_a_pause(self):
        self.check(self.begin(RETURNING), "server 0", pauses=True)

    def begin_with_standbys(self):
        return self.begin(REPLICATING, "--say_every", 5, "--elements", 30_000,
                          flags=("--replicas", 2))

    def test_primary_is_killed(self):
        self.check(self.begin_with_standbys(), "server 0")

    def test_primary_is_killed_in_a_pause(self):
        self.check(self.begin_with_standbys(), "server 0", pauses=True)

    def test_standby_is_killed(self):
        self.check(self.begin_with_standbys(), "server 2")

    def test_standby_is_killed_in_a_pause(self):
        self.check(self.begin_with_standbys(), "server 2", pauses=True)


class ElasticJobs(elastic_scheduler_returns_test.ElasticSchedulerReturnsBase):
    def check(self, pauses):
        job = self.begin_all()
        strike(job, "worker 1", pauses)
        if not pauses:
            job.expect(REPLACED)
        self.came_in(job, 1, 3)
        self.ends_well(job, 0, 2, 3)

    def test_worker_is_killed(self):
        self.check(pauses=False)

    def test_worker_is_killed_in_a_pause(self):
        self.check(pauses=True)


if __name__ == "__main__":
    unittest.main()
