# SPDX-License-Identifier: Apache-2.0
"""Servers that join on a host that one worker cannot reach, in network namespaces: they get no
place, the reason is told, and the job goes on."""

import contextlib
import signal
import sys
import unittest

import cluster
import hosts
import lab
import launch_ssh_test
import servers_join_test

DROPPED = ("DROP",)
REFUSED = ("REJECT", "--reject-with", "tcp-reset")


class Unreachable(servers_join_test.Joining, launch_ssh_test.Hosts):
    """The scheduler, a server and a worker are on the launching host, the other worker on one; who
    joins is on two."""

    @contextlib.contextmanager
    def cut(self, what):
        """What happens to all that host two gets from host one."""
        iptables = [*self.lab.inside("two"), hosts.program("iptables")]
        hosts.run(*iptables, "-A", "INPUT", "-s", self.lab.address("one"), "-p", "tcp", "-j", *what)
        try:
            yield
        finally:
            hosts.run(*iptables, "-F", "INPUT")

    def begin(self, *flags, steps=100_000):
        job = self.over(servers_join_test.REPLICATING, "--steps", steps, "--say_every", 5,
                        "--elements", 20_000, on="localhost:1,one:1",
                        flags=("-s", 1, *flags), STRETTO_JOB_TOKEN=servers_join_test.TOKEN)
        job.expect(r"\[worker 0\] step=")
        return job

    def join_from_two(self, job, **more):
        return self.join(job, "--servers", 1, inside=self.lab.inside("two"), machine="", **more)

    def test_it_has_no_place_and_the_job_goes_on(self):
        job = self.begin("--restarts", 3)
        for what in (REFUSED, DROPPED):
            with self.subTest(what=what[0]):
                with self.cut(what):
                    self.is_refused(self.join_from_two(job), "peer=server 2", "worker 1",
                                    "10.213.0.3")
                self.goes_on(job)
        self.assertNotIn("has given its place", job.output())
        joined = self.join_from_two(job, count=1)
        self.goes_on(job)
        joined.send(signal.SIGINT)
        self.ends_in_order(joined)
        self.goes_on(job)
        self.assertNotIn("WRONG", job.output())
        self.kill_all(job)


class NoLab(unittest.TestCase):
    """Where no namespaces can be made the hosts are not apart."""

    def test_there_is_no_network(self):
        made = hosts.Lab(("one",))
        self.addCleanup(made.close)
        self.assertFalse(made.apart)


if __name__ == "__main__":
    sys.exit(lab.run_where_possible(Unreachable, NoLab))
