# SPDX-License-Identifier: Apache-2.0
"""Standby servers (--replicas 2): real processes in all modes, by rules and codecs; servers are
killed, stopped and cut off, and each contribution counts once."""

import os
import random
import signal
import unittest

import cluster
import losses_test

REPLICATING = cluster.BUILD / "tests" / "replicating"
BACK = r"\[launcher\] server (\d+) .*; another is started in its place"
HAS_PLACE = r"server (\d+) is lost: .*; server (\d+), which stood by, has its place"


class ServersStandBy(cluster.ClusterTest):
    def begin(self, *arguments, restarts=50, workers=2, servers=2, **more):
        return self.launch(REPLICATING, *arguments, workers=workers, servers=servers,
                           flags=("--replicas", 2, *(("--restarts", restarts) if restarts else ()),
                                  *more.pop("flags", ())), **more)

    def goes_on(self, job, lines=2):
        """Waits for `lines` more lines of worker 0."""
        step = r"\[worker 0\] step=(\d+)$"
        before = sum(1 for line in job.lines if line.startswith("[worker 0] step="))
        return int(job.expect(step, count=before + lines)[1])

    def digest(self, job):
        self.assertEqual(job.end(), 0, job.output())
        digests = {line.split("digest=")[1] for line in job.lines if "digest=" in line}
        self.assertEqual(len(digests), 1, job.output())
        self.assertNotIn("WRONG", job.output())
        self.assert_nobody_left()
        return digests.pop()

    def kill(self, job, name, how=signal.SIGKILL):
        os.kill(job.members()[name], how)

    def test_servers_are_killed_in_turn_and_the_bits_are_those_of_an_undisturbed_job(self):
        whole = self.digest(self.launch(REPLICATING, "--steps", 300, workers=2, servers=2))
        draw = random.Random(7)
        for more in ({}, {"STRETTO_TRANSPORT": "tcp"}, {"flags": ("--encrypt",)}):
            with self.subTest(more=more):
                job = self.begin("--steps", 300, "--say_every", 5, **more)
                self.goes_on(job, lines=1)
                for attempt in range(6):
                    self.kill(job, f"server {draw.randrange(4)}")
                    job.expect(BACK, count=attempt + 1)
                    self.goes_on(job, lines=3)
                self.assertEqual(self.digest(job), whole)

    def test_without_restarts_the_job_goes_on_and_ends_well(self):
        job = self.begin("--steps", 200, restarts=0)
        self.goes_on(job, lines=1)
        self.kill(job, "server 0")
        job.expect(HAS_PLACE)
        job.expect(r"\[launcher\] server 0 killed by SIGKILL; the job goes on without it")
        self.goes_on(job)
        self.kill(job, "server 3")
        job.expect(r"server 3 is lost: .*; nobody stands by for server 1 now")
        self.digest(job)

    def test_whoever_is_lost_with_nobody_to_take_its_place_ends_the_job_and_is_named(self):
        job = self.begin("--steps", 100_000, restarts=0)
        self.goes_on(job, lines=1)
        self.kill(job, "server 0")
        job.expect(HAS_PLACE)
        self.goes_on(job)
        self.kill(job, "server 2")
        self.assertNotEqual(job.end(), 0)
        self.one_error(job, "ServerLost", "role=server", "rank=2", "killed by SIGKILL")
        job.expect(r"server 2 is lost: .*; nobody stands by for it")
        self.assert_nobody_left()

    def test_servers_that_stand_still_are_replaced(self):
        job = self.begin("--steps", 100_000, STRETTO_DEAD_AFTER_S=2)
        self.goes_on(job, lines=1)
        for attempt, name in enumerate(("server 1", "server 2")):
            self.kill(job, name, signal.SIGSTOP)
            job.expect(BACK, count=attempt + 1)
            self.goes_on(job, lines=3)
        self.kill_all(job)

    def test_two_servers_of_different_places_at_once(self):
        job = self.begin("--steps", 100_000)
        self.goes_on(job, lines=1)
        for name in ("server 0", "server 1"):
            self.kill(job, name)
        job.expect(BACK, count=2)
        self.goes_on(job, lines=3)
        self.kill_all(job)

    def test_one_interrupt_ends_it(self):
        job = self.begin("--steps", 100_000)
        self.goes_on(job, lines=1)
        job.send(signal.SIGINT)
        self.assertNotEqual(job.end(), 0)
        self.assertNotIn("is started in its place", job.output())
        self.assert_nobody_left()

    def test_servers_of_several_shards_are_lost_with_all_of_them(self):
        whole = self.digest(self.launch(REPLICATING, "--steps", 200, workers=2, servers=2))
        job = self.begin("--steps", 200, "--say_every", 5, flags=("--shards", 2))
        self.goes_on(job, lines=1)
        for attempt, name in enumerate(("server 1", "server 3", "server 1")):
            self.kill(job, name)
            job.expect(BACK, count=attempt + 1)
            self.goes_on(job, lines=3)
        self.assertEqual(self.digest(job), whole)

    def test_settings_that_cannot_be(self):
        for flags, says in ((("--replicas", 3), "wanted a whole number from 1 to 2"),
                            (("--replicas", 2, "--servers", 0), "leave out one")):
            job = self.launch(REPLICATING, workers=2, servers=2, flags=flags)
            self.assertEqual(job.end(), 2, job.output())
            self.assertIn(says, job.output())


class InElasticJobs(losses_test.LosingTest):
    """Workers are lost and join as well."""

    def begin_all(self, restarts=6, **variables):
        return self.begin("1:3", flags=("--replicas", 2, "--restarts", restarts), **variables)

    def kill(self, job, *names, how=signal.SIGKILL):
        members = job.members()
        for name in names:
            os.kill(members[name], how)

    def has_place(self, job, lost, now):
        job.expect(rf"server {lost} is lost: .*; server {now}, which stood by, has its place")

    def comes(self, job, lost, new):
        job.expect(rf"worker {lost} .*; the job goes on without it; "
                   rf"worker {new} is started for it$")
        job.expect(rf"\[worker {new}\] newcomers 1 before round \d+: us$")
        job.expect(rf"\[worker {new}\] round \d+$")

    def test_a_server_a_worker_and_one_of_each_at_once(self):
        job = self.begin_all()
        self.kill(job, "server 0")
        self.has_place(job, 0, 2)
        self.go_on(job, ("worker 0", "worker 1", "worker 2"))
        self.kill(job, "worker 1")
        self.comes(job, 1, 3)
        self.go_on(job, ("worker 0", "worker 2", "worker 3"))
        job.expect("server 0 has all that server 2 has, and stands by for it")
        self.kill(job, "server 2", "worker 0")
        self.has_place(job, 2, 0)
        self.comes(job, 0, 4)
        self.go_on(job, ("worker 2", "worker 3", "worker 4"))
        self.kill(job, "server 1")
        self.has_place(job, 1, 3)
        self.go_on(job, ("worker 2", "worker 3", "worker 4"))
        self.stop()
        self.done(job, ("worker 2", "worker 3", "worker 4"))

    def test_those_that_stand_still_at_once(self):
        job = self.begin_all(STRETTO_DEAD_AFTER_S=2)
        self.kill(job, "server 1", "worker 2", how=signal.SIGSTOP)
        self.has_place(job, 1, 3)
        self.comes(job, 2, 3)
        self.go_on(job, ("worker 0", "worker 1", "worker 3"))
        self.stop()
        self.done(job, ("worker 0", "worker 1", "worker 3"))

    def test_without_restarts_the_rest_ends_well(self):
        job = self.begin("1:3", flags=("--replicas", 2))
        self.kill(job, "server 0", "worker 0")
        self.has_place(job, 0, 2)
        self.go_on(job, ("worker 1", "worker 2"))
        self.kill(job, "server 3")
        job.expect("server 3 is lost: .*; nobody stands by for server 1 now")
        self.go_on(job, ("worker 1", "worker 2"))
        self.stop()
        self.done(job, ("worker 1", "worker 2"))


if __name__ == "__main__":
    unittest.main()
