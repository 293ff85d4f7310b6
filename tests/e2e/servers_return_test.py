# SPDX-License-Identifier: Apache-2.0
"""A server that keeps only sums of rounds is restarted alone (--restarts): real processes, servers
killed and stopped; the program checks every element of every sum."""

import os
import random
import re
import signal
import time
import unittest

import cluster

RETURNING = cluster.BUILD / "tests" / "returning"
BACK = r"\[launcher\] server (\d+) .*; another is started in its place"


class ServersReturn(cluster.ClusterTest):
    def begin(self, *arguments, restarts=8, workers=2, servers=2, **more):
        return self.launch(RETURNING, *arguments, workers=workers, servers=servers,
                           flags=("--restarts", restarts, *more.pop("flags", ())), **more)

    def goes_on(self, job, worker=0, lines=2):
        """Waits for that many more lines of a worker."""
        step = rf"\[worker {worker}\] step=(\d+)$"
        before = sum(1 for line in job.lines if re.search(step, line))
        return int(job.expect(step, count=before + lines)[1])

    def next_process(self, job, name, before):
        """The replacement of the process `before`, as soon as it runs."""
        until = time.monotonic() + cluster.PATIENCE
        while job.members().get(name, before) == before:
            self.assertLess(time.monotonic(), until, job.output())
        return job.members()[name]

    def digest(self, job):
        self.assertEqual(job.end(), 0, job.output())
        digests = {line.split("digest=")[1] for line in job.lines if "digest=" in line}
        self.assertEqual(len(digests), 1, job.output())
        self.assertNotIn("WRONG", job.output())
        self.assert_nobody_left()
        return digests.pop()

    def test_servers_are_killed_in_turn_and_all_sums_are_right(self):
        draw = random.Random(7)
        for transport in ("tcp", "auto"):
            with self.subTest(transport):
                job = self.begin("--steps", 100_000, STRETTO_TRANSPORT=transport)
                self.goes_on(job)
                for attempt in range(6):
                    name = f"server {draw.randrange(2)}"
                    os.kill(job.members()[name], signal.SIGKILL)
                    job.expect(BACK, count=attempt + 1)
                    self.goes_on(job, worker=attempt % 2, lines=1 + attempt % 2)
                self.assertNotIn("begins again", job.output())
                self.assertNotIn("WRONG", job.output())
                self.kill_all(job)

    def test_a_job_that_lost_servers_ends_well_and_with_the_same_bits(self):
        whole = self.digest(self.launch(RETURNING, "--steps", 400, workers=3, servers=1))
        job = self.begin("--steps", 400, workers=3, servers=1)
        for attempt in range(3):
            self.goes_on(job, lines=1)
            os.kill(job.members()["server 0"], signal.SIGKILL)
            job.expect(BACK, count=attempt + 1)
        self.assertEqual(self.digest(job), whole)

    def test_replacements_are_killed_before_they_join(self):
        job = self.begin("--steps", 100_000, restarts=12)
        self.goes_on(job)
        pid = job.members()["server 0"]
        for attempt in range(5):
            os.kill(pid, signal.SIGKILL)
            job.expect(BACK, count=attempt + 1)
            pid = self.next_process(job, "server 0", pid)
        self.goes_on(job, lines=3)
        self.assertNotIn("WRONG", job.output())
        self.kill_all(job)

    def test_both_servers_at_once(self):
        job = self.begin("--steps", 100_000)
        self.goes_on(job)
        for name in ("server 0", "server 1"):
            os.kill(job.members()[name], signal.SIGKILL)
        job.expect(BACK, count=2)
        self.goes_on(job, lines=3)
        self.kill_all(job)

    def test_a_server_that_stands_still_is_replaced(self):
        job = self.begin("--steps", 100_000, STRETTO_DEAD_AFTER_S=2)
        self.goes_on(job)
        os.kill(job.members()["server 1"], signal.SIGSTOP)
        job.expect(BACK)
        self.goes_on(job, lines=3)
        self.kill_all(job)

    def test_where_servers_keep_more_the_job_ends_and_says_of_which_tensor(self):
        job = self.begin("--steps", 100_000, "--rule")
        self.goes_on(job)
        os.kill(job.members()["server 0"], signal.SIGKILL)
        self.assertNotEqual(job.end(), 0)
        self.one_error(job, "ServerLost", "role=server", "rank=0", "killed by SIGKILL")
        job.expect(r"server 0 is lost: .*; another could not .* of tensor 'kept' servers keep more")
        self.assert_nobody_left()

    def test_a_sum_that_nobody_had_asked_for_is_lost_and_named(self):
        job = self.begin("--steps", 100_000, "--push_only")
        self.goes_on(job)
        for name in ("server 0", "server 1"):  # The tensor has one part, at either server.
            os.kill(job.members()[name], signal.SIGKILL)
        self.assertNotEqual(job.end(), 0)
        self.one_error(job, "PeerLost", "ServerLost: tensor 'pushed': ")
        self.assert_nobody_left()

    def test_as_often_as_may_be(self):
        job = self.begin("--steps", 100_000, restarts=1)
        self.goes_on(job)
        os.kill(job.members()["server 0"], signal.SIGKILL)
        job.expect(BACK)
        self.goes_on(job)
        os.kill(job.members()["server 1"], signal.SIGKILL)
        self.assertNotEqual(job.end(), 0)
        self.one_error(job, "ServerLost", "role=server", "rank=1", "killed by SIGKILL")
        job.expect(r"server 1 is lost: .*; no more servers may be replaced \(--restarts")
        self.assert_nobody_left()

    def test_one_interrupt_ends_it(self):
        job = self.begin("--steps", 100_000)
        self.goes_on(job)
        job.send(signal.SIGINT)
        self.assertNotEqual(job.end(), 0)
        self.assertNotIn("is started in its place", job.output())
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
