# SPDX-License-Identifier: Apache-2.0
"""The scheduler of an elastic job is killed or stopped, alone, with a worker, with a server, during
a join, twice in a row: it restarts, and the remaining workers continue with exact sums."""

import os
import signal
import tempfile
import threading
import time
import unittest

import cluster
import losses_test

ALL_CAME = r"\[scheduler\] .*all members have come again, or are lost, after ([0-9.]+) s"
DEAD_AFTER = 2


class ElasticSchedulerReturnsBase(losses_test.LosingTest):
    def begin_all(self, workers="1:3", restarts=8, flags=(), **variables):
        self.came = 0
        return self.begin(workers, flags=("--restarts", restarts, *flags), **variables)

    def again(self):
        """Resets for another job."""
        self.until = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "stop")

    def kill(self, job, *names, how=signal.SIGKILL):
        members = job.members()
        for name in names:
            os.kill(members[name], how)

    def is_back(self, job):
        self.came += 1
        return job.expect(ALL_CAME, count=self.came)

    def came_in(self, job, lost, new):
        job.expect(rf"worker {lost} .*; the job goes on without it; "
                   rf"worker {new} is started for it$")
        job.expect(rf"\[worker {new}\] newcomers 1 before round \d+: us$")
        job.expect(rf"\[worker {new}\] round \d+$")

    def ends_well(self, job, *numbers):
        names = tuple(f"worker {number}" for number in numbers)
        self.go_on(job, names)
        self.stop()
        self.done(job, names)
        self.assertEqual([line for line in job.lines if "] ERROR" in line], [], job.output())


class SumsOfServers(ElasticSchedulerReturnsBase):
    def test_it_is_killed_twice_in_a_row_and_nobody_is_lost(self):
        for transport in ("auto", "tcp"):
            with self.subTest(transport):
                self.again()
                job = self.begin_all("3:3", STRETTO_TRANSPORT=transport)
                self.kill(job, "scheduler")
                job.expect(r"\[launcher\] scheduler .*; another is started in its place")
                self.kill(job, "scheduler")
                job.expect(r"\[launcher\] scheduler .*; another is started in its place", count=2)
                job.expect(ALL_CAME)
                self.ends_well(job, 0, 1, 2)
                self.assertNotIn("goes on without", job.output())

    def test_it_stands_still_and_calls_wait_for_it(self):
        job = self.begin_all("3:3", STRETTO_DEAD_AFTER_S=DEAD_AFTER)
        self.kill(job, "scheduler", how=signal.SIGSTOP)
        self.go_on(job, ("worker 0", "worker 1", "worker 2"))
        job.expect(r"\[launcher\] scheduler was lost to the job and killed; another is started")
        self.is_back(job)
        self.ends_well(job, 0, 1, 2)

    def test_a_worker_is_killed_with_it_whichever_is_first_and_another_comes(self):
        for first in ("worker 0", "scheduler"):
            with self.subTest(first):
                self.again()
                job = self.begin_all()
                second = {"worker 0": "scheduler", "scheduler": "worker 0"}[first]
                struck = time.monotonic()
                self.kill(job, first, second)
                self.is_back(job)
                job.expect(r"\[worker 1\] view rank=0 size=2$")
                print(f"{first} and {second} were killed: the loss was told after "
                      f"{time.monotonic() - struck:.2f} s")
                self.came_in(job, 0, 3)
                self.ends_well(job, 1, 2, 3)

    def test_a_worker_that_stands_still_with_it_is_left_behind(self):
        job = self.begin_all(restarts=2, STRETTO_DEAD_AFTER_S=DEAD_AFTER)
        self.kill(job, "worker 0", how=signal.SIGSTOP)
        self.kill(job, "scheduler")
        self.is_back(job)
        job.expect(r"worker 0 is lost; the job goes on without it; worker 3 is started for it$")
        self.came_in(job, 0, 3)
        self.ends_well(job, 1, 2, 3)
        self.assertIn("sent SIGKILL to worker 0", job.lines_of("launcher"))

    def test_it_is_killed_while_a_newcomer_comes(self):
        """At any moment of the join: at its start, at the hello, or while it waits for its step."""
        took = []
        for pause in (0, 0.03, 0.06, 0.1, 0.2):
            with self.subTest(pause):
                self.again()
                job = self.begin_all()
                self.kill(job, "worker 1")
                job.expect(r"worker 3 is started for it$")
                threading.Event().wait(pause)  # Only the moment of the fault depends on it.
                struck = time.monotonic()
                self.kill(job, "scheduler")
                self.is_back(job)
                self.came_in(job, 1, 3)
                took.append(time.monotonic() - struck)
                self.ends_well(job, 0, 2, 3)
        print("newcomers made rounds", ", ".join(f"{each:.2f}" for each in took),
              "s after the scheduler was killed")

    def test_a_worker_that_is_lost_comes_to_the_next_one_as_itself(self):
        job = self.begin_all(restarts=1, STRETTO_DEAD_AFTER_S=3)
        self.kill(job, "worker 2")
        self.came_in(job, 2, 3)
        stopped = job.members()["worker 0"]
        os.kill(stopped, signal.SIGSTOP)
        job.expect(r"worker 0 is lost; the job goes on without it$")
        self.kill(job, "scheduler")
        self.is_back(job)
        os.kill(stopped, signal.SIGCONT)
        job.expect(r"\[worker 0\] lost: ")
        job.expect(r"\[worker 0\] newcomers 1 before round \d+: us$")
        job.expect(r"worker 0 is in the job again$")
        self.ends_well(job, 1, 3, 0)

    def test_what_was_told_before_is_not_told_again(self):
        job = self.begin_all()
        self.kill(job, "worker 1")
        self.came_in(job, 1, 3)
        for _ in range(2):
            self.kill(job, "scheduler")
            self.is_back(job)
        self.ends_well(job, 0, 2, 3)
        told = [line for line in job.lines_of("launcher") if "the job goes on without it" in line]
        self.assertEqual(len(told), 1, job.output())

    def test_below_min_the_job_ends_with_the_loss(self):
        job = self.begin_all("3:3")
        self.kill(job, "worker 1", "scheduler")
        self.assertNotEqual(job.end(), 0)
        for name in ("worker 0", "worker 2", "server 0"):
            self.assertTrue(job.errors_of(name), job.output())
            self.assert_error(job.errors_of(name)[0], "PeerLost", "worker 1")
        self.assertIn("role=worker rank=1", job.lines[-1])
        self.assert_nobody_left()

    def test_as_often_as_may_be(self):
        job = self.begin_all(restarts=1)
        self.kill(job, "scheduler")
        self.is_back(job)
        self.kill(job, "scheduler")
        self.assertNotEqual(job.end(), 0)
        self.one_error(job, "SchedulerLost", "role=scheduler", "killed by SIGKILL")
        self.assert_nobody_left()

    def test_finished_job_ends_a_replacement_that_never_joins(self):
        program = f"[ $STRETTO_RANK -lt 3 ] || exec sleep 600; exec {losses_test.LOSING} \"$@\""
        job = self.launch("/bin/sh", "-c", program, "sh", "--until", self.until, workers="1:3",
                          flags=("--restarts", 1))
        for number in range(3):
            job.expect(rf"\[worker {number}\] round 10$")
        self.kill(job, "worker 1")
        job.expect(r"worker 3 is started for it$")
        self.stop()
        self.done(job, ("worker 0", "worker 2"))
        self.assertIn("sent SIGKILL to worker 3", job.lines_of("launcher"))
        self.assertNotIn("scheduler exited", job.output())
        self.assert_nobody_left()

    def test_a_worker_that_is_lost_after_is_replaced_too(self):
        job = self.begin_all()
        self.kill(job, "scheduler")
        self.is_back(job)
        self.kill(job, "worker 0")
        self.came_in(job, 0, 3)
        self.ends_well(job, 1, 2, 3)


class SumsAmongWorkers(ElasticSchedulerReturnsBase):
    exchange = "ring"

    def test_a_worker_is_killed_with_it_and_another_comes(self):
        job = self.begin_all()
        self.kill(job, "scheduler")
        self.is_back(job)
        self.go_on(job, ("worker 0", "worker 1", "worker 2"))
        self.kill(job, "worker 1", "scheduler")
        self.is_back(job)
        self.came_in(job, 1, 3)
        self.ends_well(job, 0, 2, 3)


class WithStandbys(ElasticSchedulerReturnsBase):
    def has_place(self, job, lost, now):
        job.expect(rf"server {lost} is lost: .*; server {now}, which stood by, has its place")

    def test_a_server_and_a_worker_are_killed_with_it(self):
        job = self.begin_all(flags=("--replicas", 2))
        self.kill(job, "server 0", "scheduler")
        self.is_back(job)
        self.has_place(job, 0, 2)
        job.expect("server 0 has all that server 2 has, and stands by for it")
        self.go_on(job, ("worker 0", "worker 1", "worker 2"))
        self.kill(job, "scheduler", "worker 1", "server 2")
        self.is_back(job)
        self.has_place(job, 2, 0)
        self.came_in(job, 1, 3)
        self.ends_well(job, 0, 2, 3)


if __name__ == "__main__":
    unittest.main()
