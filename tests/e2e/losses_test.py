# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs whose workers are killed: the others continue with exact, identical sums, and the
job succeeds while enough of them are left; otherwise it ends with an error that names one."""

import os
import re
import signal
import tempfile
import time
import unittest

import cluster

LOSING = cluster.BUILD / "tests" / "losing"


class LosingTest(cluster.ClusterTest):
    """Three workers and two servers, always."""

    exchange = "servers"

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.until = os.path.join(folder.name, "stop")

    def begin(self, workers, flags=(), wrapper=(), **variables):
        job = self.launch(*wrapper, LOSING, "--until", self.until, "--exchange", self.exchange,
                          workers=workers, flags=flags, **variables)
        for number in range(3):
            job.expect(rf"\[worker {number}\] round 10$")
        return job

    def go_on(self, job, survivors):
        """Waits until all remaining workers continue."""
        for name in survivors:
            said = [int(line.removeprefix("round ")) for line in job.lines_of(name)
                    if line.startswith("round ")]
            job.expect(rf"\[{name}\] round {said[-1] + 15}$")

    def stop(self):
        with open(self.until, "w", encoding="ascii"):
            pass

    def done(self, job, survivors):
        """Checks that their results are equal; returns the longest wait for a sum, in ms."""
        self.assertEqual(job.end(), 0, job.output())
        self.assertNotIn("wrong:", job.output())
        ends = {name: re.search(r"done rank=(\d+) size=(\d+) (rounds=\d+ digest=\w+) "
                                r"longest_ms=(\S+)", "\n".join(job.lines_of(name)))
                for name in survivors}
        self.assertTrue(all(ends.values()), job.output())
        self.assertEqual([end[1] for end in ends.values()],
                         [str(rank) for rank in range(len(survivors))], job.output())
        self.assertEqual({end[2] for end in ends.values()}, {str(len(survivors))}, job.output())
        self.assertEqual(len({end[3] for end in ends.values()}), 1, job.output())
        self.assert_nobody_left()
        return max(float(end[4]) for end in ends.values())

class Losses(LosingTest):
    """Sums by servers."""

    def test_rank_0_and_another_are_killed(self):
        job = self.begin("1:3")
        pids = job.members()
        os.kill(pids["worker 0"], signal.SIGKILL)
        job.expect(r"worker 0 killed by SIGKILL; the job goes on without it$|"
                   r"worker 0 is lost; the job goes on without it$")
        job.expect(r"\[worker 1\] view rank=0 size=2$")
        job.expect(r"\[worker 2\] view rank=1 size=2$")
        self.go_on(job, ("worker 1", "worker 2"))
        os.kill(pids["worker 2"], signal.SIGKILL)
        job.expect(r"\[worker 1\] view rank=0 size=1$")
        self.go_on(job, ("worker 1",))
        self.stop()
        longest = self.done(job, ("worker 1",))
        job.expect("the job was done without 2 workers that it had lost: worker 0 "
                   r"\(killed by SIGKILL\), worker 2 \(killed by SIGKILL\)$")
        print(f"longest wait for a sum, with two kills: {longest} ms")

    def test_two_are_killed_at_once(self):
        job = self.begin("1:3")
        pids = job.members()
        for name in ("worker 0", "worker 1"):
            os.kill(pids[name], signal.SIGKILL)
        self.go_on(job, ("worker 2",))
        self.stop()
        print(f"longest wait for a sum, with two kills at once: "
              f"{self.done(job, ('worker 2',))} ms")

    def test_a_worker_is_run_again_before_all_have_joined(self):
        dies = 'if [ $STRETTO_RANK = 1 ] && mkdir "$0"; then kill -KILL $$; fi; exec "$@"'
        job = self.begin("2:3", ("--restarts", "1"),
                         ("/bin/sh", "-c", dies, os.path.dirname(self.until) + "/died"))
        self.stop()
        self.done(job, ("worker 0", "worker 1", "worker 2"))
        job.expect("worker 1 killed by SIGKILL before all workers had joined; another is started "
                   "in its place$")

    def test_workers_may_fail_after_they_have_left(self):
        ends = ('"$@" || exit; case $STRETTO_RANK in 0) kill -KILL $$;; 1) exit 3;; esac')
        job = self.begin("1:3", wrapper=("/bin/sh", "-c", ends, "worker"))
        self.stop()
        self.done(job, ("worker 0", "worker 1", "worker 2"))
        self.assertNotIn("that it had lost", job.output())

    def test_sigterm_to_the_launcher_lets_workers_leave(self):
        job = self.begin("2:3", wrapper=("/bin/sh", "-c", 'exec "$@" --leaves', "worker"))
        job.send(signal.SIGTERM)
        self.assertEqual(job.end(), 0, job.output())
        self.assertEqual(job.errors(), [], job.output())
        self.assertEqual([line for line in job.lines_of("launcher") if line.startswith("sent ")],
                         ["sent SIGTERM to worker 0, worker 1, worker 2; SIGKILL follows after "
                          "20 s"])
        self.assert_nobody_left()

    def test_one_that_stands_still_is_left_behind(self):
        job = self.begin("2:3", STRETTO_DEAD_AFTER_S=2)
        os.kill(job.members()["worker 1"], signal.SIGSTOP)
        job.expect(r"worker 1 is lost; the job goes on without it$")
        self.go_on(job, ("worker 0", "worker 2"))
        self.stop()
        print(f"longest wait for a sum, with one that stands still: "
              f"{self.done(job, ('worker 0', 'worker 2'))} ms")
        self.assertIn("sent SIGKILL to worker 1", job.lines_of("launcher"))

    def test_one_that_stands_still_ends_when_another_is_started_for_it(self):
        job = self.begin("2:3", flags=("--restarts", "1"), STRETTO_DEAD_AFTER_S=2)
        os.kill(job.members()["worker 1"], signal.SIGSTOP)
        job.expect(r"worker 1 is lost; the job goes on without it; worker 3 is started for it$")
        job.expect(r"sent SIGKILL to worker 1$")
        job.expect(r"\[worker 3\] newcomers 1 before round \d+: us$")
        self.stop()
        self.done(job, ("worker 0", "worker 2", "worker 3"))

    def test_lost_workers_are_replaced(self):
        """Rank 0 is one, and a replacement is the next."""
        job = self.begin("2:3", flags=("--restarts", "2"))
        os.kill(job.members()["worker 0"], signal.SIGKILL)
        job.expect(r"the job goes on without it; worker 3 is started for it$")
        job.expect(r"\[worker 3\] newcomers 1 before round \d+: us$")
        job.expect(r"\[worker 1\] newcomers 1 before round \d+$")
        job.expect(r"\[worker 3\] round \d+$")
        os.kill(job.members()["worker 3"], signal.SIGKILL)
        job.expect(r"worker 3 .*; the job goes on without it; worker 4 is started for it$")
        job.expect(r"\[worker 4\] newcomers 1 before round \d+: us$")
        job.expect(r"\[worker 4\] round \d+$")
        self.go_on(job, ("worker 1", "worker 2", "worker 4"))
        self.stop()
        print(f"longest wait for a sum, with two that are replaced: "
              f"{self.done(job, ('worker 1', 'worker 2', 'worker 4'))} ms")

    def test_a_program_that_was_stopped_comes_again(self):
        job = self.begin("1:3", STRETTO_DEAD_AFTER_S=3)
        stopped = job.members()["worker 0"]
        os.kill(stopped, signal.SIGSTOP)
        job.expect(r"worker 0 is lost; the job goes on without it$")
        self.go_on(job, ("worker 1", "worker 2"))
        os.kill(stopped, signal.SIGCONT)
        job.expect(r"\[worker 0\] lost: worker 0 is lost")
        job.expect(r"\[worker 0\] newcomers 1 before round \d+: us$")
        job.expect(r"worker 0 is in the job again$")
        self.go_on(job, ("worker 1", "worker 2", "worker 0"))
        self.stop()
        self.done(job, ("worker 1", "worker 2", "worker 0"))
        self.assertNotIn("SIGKILL", job.output())

    def join(self, job, number, token=None):
        """A worker of the test's own that joins the job."""
        told = cluster.variables_of(job.members()["worker 1"])
        variables = {} if token is None else {"STRETTO_JOB_TOKEN": token}
        return self.start(f"joiner {number}", [cluster.LAUNCH, "join", told["STRETTO_SCHEDULER"],
                                               "--", LOSING, "--until", self.until, "--number",
                                               number], **variables)

    def test_one_that_comes_before_a_place_is_free_waits_for_it(self):
        job = self.begin("2:3")
        early = self.join(job, 3)
        while not cluster.connected_ports(early.pid):
            os.sched_yield()
        os.kill(job.members()["worker 1"], signal.SIGKILL)
        early.expect(r"newcomers 1 before round \d+: us$")
        early.expect(r"round \d+$")
        self.stop()
        self.assertEqual(early.end(), 0, early.output())
        self.assertEqual(job.end(), 0, job.output())
        self.assertNotIn("wrong:", job.output() + early.output())
        self.assert_nobody_left()

    def test_one_joins_by_command_and_others_die_on_their_way(self):
        job = self.begin("1:3", STRETTO_DEAD_AFTER_S=3)
        full = self.join(job, 3)
        self.assertNotEqual(full.end(), 0, full.output())
        self.one_error(full, "Refused", "the job has 3 of 3 workers", "MIN:MAX")
        stranger = self.join(job, 3, token="0123456789abcdef")
        self.assertNotEqual(stranger.end(), 0, stranger.output())
        self.one_error(stranger, "Refused", "token")
        os.kill(job.members()["worker 0"], signal.SIGKILL)
        job.expect(r"the job goes on without it$")
        for phase in ("begun", "connected", "in"):
            short = self.join(job, 3)
            while phase == "connected" and not cluster.connected_ports(short.pid):
                os.sched_yield()
            if phase == "in":
                short.expect(r"newcomers 1 before round \d+: us$")
            os.kill(short.pid, signal.SIGKILL)
            self.assertEqual(short.end(), 128 + signal.SIGKILL)
            self.go_on(job, ("worker 1", "worker 2"))
        came = self.join(job, 4)
        came.expect(r"newcomers 1 before round \d+: us$")
        came.expect(r"^round \d+$")
        self.go_on(job, ("worker 1", "worker 2"))
        self.stop()
        self.assertEqual(came.end(), 0, came.output())
        own = came.expect(r"done rank=2 size=3 (rounds=\d+ digest=\w+) ")[1]
        self.assertEqual(job.end(), 0, job.output())
        for name in ("worker 1", "worker 2"):
            job.expect(rf"\[{name}\] done rank=\d size=3 {own} ")
        self.assertNotIn("wrong:", job.output() + came.output())
        self.assert_nobody_left()

    def leave_alone(self, job):
        """One joins, and all that the launcher has started are lost; returns it."""
        pids = job.members()
        os.kill(pids["worker 0"], signal.SIGKILL)
        job.expect(r"worker 0 .*the job goes on without it$")
        came = self.join(job, 3)
        came.expect(r"newcomers 1 before round \d+: us$")
        for name in ("worker 1", "worker 2"):
            os.kill(pids[name], signal.SIGKILL)
            job.expect(rf"{name} .*the job goes on without it$")
        came.expect(r"view rank=0 size=1$")
        came.expect(r"^round \d+$")
        return came

    def go_on_alone(self, came):
        said = [line for line in list(came.lines) if line.startswith("round ")]
        came.expect(rf"^round {int(said[-1].removeprefix('round ')) + 15}$")

    def test_who_has_joined_goes_on_when_all_from_the_launcher_are_lost(self):
        job = self.begin("1:3", flags=("--drain", "2"))
        came = self.leave_alone(job)
        until = time.monotonic() + 4  # Longer than a job that is done may drain.
        while time.monotonic() < until:
            self.go_on_alone(came)
        self.assertTrue(job.running(), job.output())
        self.stop()
        self.assertEqual(came.end(), 0, came.output())
        self.assertEqual(job.end(), 0, job.output())
        self.assertNotIn("sent SIGTERM", job.output())
        self.assert_nobody_left()

    def test_the_loss_of_the_last_one_that_has_joined_is_the_jobs(self):
        job = self.begin("1:3")
        came = self.leave_alone(job)
        os.kill(came.pid, signal.SIGKILL)
        self.assertEqual(came.end(), 128 + signal.SIGKILL)
        self.assertNotEqual(job.end(), 0, job.output())
        self.assertIn("worker 3 is lost", job.errors()[0].cause, job.output())
        self.assert_nobody_left()

    def test_too_few_end_the_job(self):
        job = self.begin("3:3")
        os.kill(job.members()["worker 1"], signal.SIGKILL)
        self.assertNotEqual(job.end(), 0, job.output())
        self.assertEqual([error.who for error in job.errors()], ["worker 1"], job.output())
        self.assertIn("the job may not go on with fewer than 3 workers", job.output())
        self.assert_nobody_left()


class LossesAmongWorkers(LosingTest):
    """Sums by workers among themselves."""

    exchange = "tree"

    test_rank_0_and_another_are_killed = Losses.test_rank_0_and_another_are_killed
    test_one_that_stands_still_is_left_behind = Losses.test_one_that_stands_still_is_left_behind
    test_lost_workers_are_replaced = Losses.test_lost_workers_are_replaced
    test_a_program_that_was_stopped_comes_again = Losses.test_a_program_that_was_stopped_comes_again


if __name__ == "__main__":
    unittest.main()
