# SPDX-License-Identifier: Apache-2.0
"""Standbys, or joining servers, that one worker cannot reach, in network namespaces: permanently,
and they are rejected, with the reason; or temporarily, and they are unaffected. Also a server that
others cannot hear."""

import contextlib
import signal
import sys
import threading
import unittest

import cluster
import hosts
import lab
import launch_ssh_test
import servers_join_test

DROPPED = ("DROP",)
OUTAGE = 3.5  # Seconds: longer than a silent link is kept, less than STRETTO_DEAD_AFTER_S.
REFUSED = ("REJECT", "--reject-with", "tcp-reset")


class Unreachable(servers_join_test.Joining, launch_ssh_test.Hosts):
    """The scheduler, a server and a worker are on the launching host, the other worker on one; the
    joining server is on two."""

    @contextlib.contextmanager
    def cut(self, what):
        """Applies the fault to all traffic from host one to host two."""
        iptables = [*self.lab.inside("two"), hosts.program("iptables")]
        hosts.run(*iptables, "-A", "INPUT", "-s", self.lab.address("one"), "-p", "tcp", "-j", *what)
        try:
            yield
        finally:
            hosts.run(*iptables, "-F", "INPUT")

    @contextlib.contextmanager
    def large_packets_lost(self):
        """Drops those from host one, except the launcher's ssh."""
        iptables = [*self.lab.inside("one"), hosts.program("iptables")]
        hosts.run(*iptables, "-A", "OUTPUT", "-o", "wire", "-p", "tcp", "!", "--sport", "2200",
                  "-m", "length", "--length", "577:65535", "-j", "DROP")
        try:
            yield
        finally:
            hosts.run(*iptables, "-F", "OUTPUT")

    def begin(self, *flags, on="localhost:1,one:1"):
        job = self.over(servers_join_test.REPLICATING, "--steps", 100_000, "--say_every", 5,
                        "--elements", 20_000, on=on, flags=("-s", 1, *flags),
                        STRETTO_JOB_TOKEN=servers_join_test.TOKEN)
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

    def test_an_outage_of_a_workers_host_costs_no_server_that_stands_by(self):
        job = self.begin("--replicas", 2, "--restarts", 1, on="localhost:1,one:1,two:1")
        self.goes_on(job)
        with self.lab.without_power("two", []):
            threading.Event().wait(OUTAGE)  # The duration of the fault.
        self.goes_on(job, lines=10)
        self.assertIn("was made anew", job.output())
        self.assertNotIn("is lost", job.output())
        self.kill_all(job)

    def test_the_server_common_to_broken_links_is_lost(self):
        flags = ["-s", 1, "--replicas", 2]
        places = {"server": ("one", "two"), "worker": ("localhost", "localhost", "two")}
        for role, names in places.items():
            file = self.lab.folder / f"{role}s"
            file.write_text("".join(f"{name}\n" for name in names), encoding="ascii")
            flags += [f"--{role}-hostfile", file]
        for workers in ((), ("--workers", "1:3")):
            with self.subTest(workers=workers):
                job = self.start_job([*self.lab.home(), cluster.LAUNCH, "--starter", self.lab.ssh,
                                      *flags, *workers, "--", servers_join_test.REPLICATING,
                                      "--steps", 100_000, "--say_every", 5, "--elements", 20_000])
                self.goes_on(job)
                with self.large_packets_lost():
                    job.expect("server 0 is lost: .*; server 1, which stood by, has its place")
                    self.goes_on(job)
                self.assertNotRegex(job.output(), r"(worker \d|server 1) is lost|WRONG")
                self.kill_all(job)


class NoLab(unittest.TestCase):
    """Without namespaces the hosts are not separate."""

    def test_there_is_no_network(self):
        made = hosts.Lab(("one",))
        self.addCleanup(made.close)
        self.assertFalse(made.apart)


if __name__ == "__main__":
    sys.exit(lab.run_where_possible(Unreachable, NoLab))
