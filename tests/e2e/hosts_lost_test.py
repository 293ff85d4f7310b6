# SPDX-License-Identifier: Apache-2.0
"""Hosts that are lost with the servers on them (--replicas 2, over ssh): real sshd servers, a
killed agent and a silent network; results are bit-identical to an undisturbed job's."""

import contextlib
import pathlib
import re
import tempfile
import unittest

import cluster
import host_losses
from host_losses import PATIENCE


class HostsOfServers(host_losses.HostsLost):
    def digest(self, job):
        self.assertEqual(job.end(PATIENCE), 0, job.output())
        self.assertNotIn("WRONG", job.output())
        digests = set(re.findall(r"digest=(\S+)", job.output()))
        self.assertEqual(len(digests), 1, job.output())
        return digests.pop()

    def test_a_killed_agent_and_a_silent_host_cost_no_bit(self):
        steps = ("--steps", 8_000, "--say_every", 50, "--elements", 1000)
        whole = self.digest(self.begin(*steps))
        job = self.begin(*steps, STRETTO_DEAD_AFTER_S=2)
        with contextlib.ExitStack() as power:
            for name, kind in (("b", "agent"), ("c", "power")):
                since, _ = self.lose(job, name, kind, power)
                self.goes_on(job, since)
                self.replaced(job, since)
            self.assertEqual(self.digest(job), whole)

    def test_for_a_worker_of_a_silent_host_one_is_started_on_another_at_once(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        until = pathlib.Path(folder.name) / "stop"
        job = self.start_job([*self.lab.home(), cluster.LAUNCH, "--starter", self.lab.ssh,
                              "-H", "work:1,a:1", "--workers", "1:2", "--restarts", 1, "--",
                              cluster.BUILD / "tests" / "losing", "--until", until],
                             STRETTO_DEAD_AFTER_S=4)
        job.expect(r"\[worker 1\] round 10$")
        with contextlib.ExitStack() as power:
            since = self.lose_host_of(job, "worker 1", "a", power)
            job.expect(r"worker 2 is started for it$", PATIENCE, since=since)
            job.expect(r"\[worker 2\] newcomers 1 before round \d+: us$", PATIENCE, since=since)
            until.touch()
            self.assertEqual(job.end(PATIENCE), 0, job.output())


if __name__ == "__main__":
    unittest.main()
