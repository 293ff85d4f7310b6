# SPDX-License-Identifier: Apache-2.0
"""Links that are reset, are silent for less than the member timeout, or go down with their network,
while a job trains and while endpoints call each other: all continue, every value is right, and no
output mentions a loss.
"""

import os
import pathlib
import sys
import tempfile
import unittest

import cluster
import hosts
import lab
import links
import relay

SEED = int(os.environ.get("STRETTO_SEED", "1"))
SILENCE = 2.0  # Of the 5 s after which a member is lost.
# Other jobs use the same machine: a peer of a reset must have run by then.
PATIENT = {"STRETTO_DEAD_AFTER_S": 20}


class Remade(cluster.ClusterTest):
    """Every target was disturbed, and all jobs succeeded."""

    def until(self):
        """A file that ends the workers' training once it exists."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name) / "until"

    def flags(self, until, elements=20_000):
        return ("--rounds", 10**9, "--progress", 5, "--elements", elements, "--until", until)

    def assert_all_is_well(self, everybody, until):
        until.touch()
        for name, process in everybody.items():
            self.assertEqual(process.end(), 0, f"{name}: {process.output()}")
            self.assertEqual(process.errors(), [], process.output())
            if name.startswith("worker"):
                process.expect(r"verified values=\d+ wrong=0 ")
        self.assert_nobody_left()

    def assert_nobody_ends(self, everybody, seconds):
        watch = cluster.Watch({name: process.pid for name, process in everybody.items()})
        self.addCleanup(watch.close)
        self.assertEqual(watch.ends(seconds), {})

    def remade(self, everybody):
        return sum("was made anew" in line
                   for process in everybody.values() for line in process.lines)

    def assert_goes_on(self, everybody, rounds=10):
        for name, process in everybody.items():
            if name.startswith(("worker", "call")):
                had = sum("progress" in line for line in process.lines)
                process.expect("progress", count=had + rounds)


class Relayed(Remade):
    """All links lead through a relay on this host."""

    def job(self, transport="tcp", **variables):
        until = self.until()
        middle = relay.Relay(SEED)
        self.addCleanup(middle.close)
        job = cluster.ByHand(self, STRETTO_TRANSPORT=transport, STRETTO_NODE_HOST=relay.HOST,
                             **variables)
        job.address = middle.route(int(job.address.split(":")[1]))
        for rank in (0, 1):
            server = job.server(rank, STRETTO_BIND_HOST="127.0.0.1", STRETTO_LOG_LEVEL="debug")
            middle.route(cluster.address_of(server)[1])
        for rank in (0, 1):
            job.worker(rank, self.flags(until))
        self.assert_goes_on(job.everybody, 1)
        return middle, job, until

    def test_resets_at_any_moment(self):
        middle, job, until = self.job(**PATIENT)
        middle.reset_some(60, 0.08)
        self.assert_goes_on(job.everybody)
        self.assert_all_is_well(job.everybody, until)
        self.assertGreater(self.remade(job.everybody), 20)
        print(f"MEASURED {middle.resets} resets, {self.remade(job.everybody)} ends of links "
              "were made anew")

    def test_corrupted_bytes_are_sent_again_and_never_summed(self):
        middle, job, until = self.job(STRETTO_CHECKSUMS="all", **PATIENT)
        middle.corrupt(0.005)
        while middle.corrupted < 30:
            self.assert_goes_on(job.everybody, 1)
        middle.corrupt(0.0)
        self.assert_goes_on(job.everybody)
        self.assert_all_is_well(job.everybody, until)
        self.assertGreater(self.remade(job.everybody), 10)
        print(f"MEASURED {middle.corrupted} corrupted chunks, {self.remade(job.everybody)} ends of "
              "links were made anew")

    def test_changed_encrypted_bytes_end_their_link(self):
        middle, job, until = self.job("zmq", STRETTO_CHECKSUMS="off", STRETTO_ENCRYPT=1,
                                      STRETTO_JOB_TOKEN="a token of this test", **PATIENT)
        # A changed length takes half of the member timeout: none twice in a row.
        middle.corrupt(0.2, most=20)
        while middle.corrupted < 20:
            self.assert_goes_on(job.everybody, 1)
        self.assert_goes_on(job.everybody)
        self.assert_all_is_well(job.everybody, until)
        self.assertGreater(self.remade(job.everybody), 5)

    def test_silence_in_one_direction_and_in_both(self):
        middle, job, until = self.job()
        for directions in (("server",), ("client",), ("server", "client")):
            middle.hold(*directions)
            self.assert_nobody_ends(job.everybody, SILENCE)
            middle.hold()
            self.assert_goes_on(job.everybody, 1)
        self.assert_all_is_well(job.everybody, until)


class NoLab(unittest.TestCase):
    """The error without namespaces."""

    def test_there_is_no_network(self):
        with self.assertRaises((AssertionError, FileNotFoundError)):
            links.Network()


class Networked(Remade):
    """Hosts in network namespaces."""

    @classmethod
    def setUpClass(cls):
        hosts.program("iptables")
        cls.network = links.Network()
        cls.addClassCleanup(cls.network.close)

    def start_all(self, until, transports=links.TRANSPORTS):
        jobs = {}
        for name in transports:
            jobs[name] = links.Job(self, self.network, name, self.flags(until), **PATIENT)
            calls = links.Calls(self, self.network, name, ("--progress", 20, "--bytes", 50_000),
                                **PATIENT)
            jobs[f"calls {name}"] = calls
        for job in jobs.values():
            self.assert_goes_on(job.everybody, 1)
        return jobs

    def check(self, jobs, until):
        for job in jobs.values():
            self.assert_goes_on(job.everybody)
        for name, job in jobs.items():
            if not name.startswith("calls"):
                self.assert_all_is_well_of(job.everybody, until)
                continue
            for process in job.everybody.values():
                self.assertTrue(process.running(), process.output())
                self.assertEqual(process.errors(), [], process.output())
                process.destroy()
        self.assert_nobody_left()

    def assert_all_is_well_of(self, everybody, until):
        until.touch()
        for name, process in everybody.items():
            self.assertEqual(process.end(), 0, f"{name}: {process.output()}")
            self.assertEqual(process.errors(), [], process.output())

    def test_a_cable_is_pulled_and_put_back(self):
        until = self.until()
        jobs = self.start_all(until)
        self.network.pull("worker")
        for job in jobs.values():
            self.assert_nobody_ends(job.everybody, SILENCE / len(jobs))
        self.network.put_back("worker")
        self.check(jobs, until)

    def test_resets_of_every_connection_between_two_hosts(self):
        until = self.until()
        jobs = self.start_all(until)
        self.addCleanup(self.network.mend)
        for direction in ("to server", "to worker", "both"):
            self.network.cut("reset", direction)
            self.assert_nobody_ends(jobs["tcp"].everybody, 0.3)
            self.network.mend()
            for job in jobs.values():
                self.assert_goes_on(job.everybody, 1)
        self.check(jobs, until)
        for name, job in jobs.items():
            self.assertGreater(self.remade(job.everybody), 0, name)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Relayed)
    done = unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful()
    return lab.run_where_possible(Networked, NoLab) if done else 1


if __name__ == "__main__":
    sys.exit(main())
