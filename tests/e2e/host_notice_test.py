# SPDX-License-Identifier: Apache-2.0
"""A host with a preemption notice: its agent gets SIGTERM, as from batch systems and operators, and
the job continues, or restarts, on the other hosts, with real sshd servers."""

import os
import pathlib
import signal
import tempfile
import unittest

import cluster
import hosts
import launch_ssh_test

TESTS = cluster.BUILD / "tests"
LEAVES = r"\[launcher\] two leaves the job; asked to go within \S+ s: (.*)$"
EMPTY = r"\[launcher\] nothing of the job runs on two any more$"


class HostNotice(launch_ssh_test.Hosts):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.until = self.folder / "stop"

    def servers_on(self, *names):
        """Flags by which servers are on these hosts."""
        path = self.folder / "servers"
        path.write_text("".join(f"{name}\n" for name in names), encoding="ascii")
        return ("--server-hostfile", path, "-s", len(names))

    def agent_of(self, member):
        pid = self.members()[member]
        return next(agent for agent in hosts.agents() if pid in cluster.children_of(agent))

    def give_notice(self, job, member):
        """Sends a notice to the host of this member. Returns when the job knows it."""
        agent = self.agent_of(member)
        os.kill(agent, signal.SIGTERM)
        job.expect(r"\[launcher\] (one|two) was sent SIGTERM$")
        return agent

    def goes_on(self, job, worker=0, lines=2, what="step="):
        begin = f"[worker {worker}] {what}"
        before = sum(1 for line in job.lines if line.startswith(begin))
        job.expect(rf"\[worker {worker}\] {what}\d+$", count=before + lines)

    def digest(self, job):
        self.assertEqual(job.end(), 0, job.output())
        digests = {line.split("digest=")[1] for line in job.lines if "digest=" in line}
        self.assertEqual(len(digests), 1, job.output())
        self.assertEqual(job.errors(), [], job.output())
        self.assert_nobody_left()
        return digests.pop()

    def losing(self, on, *flags, program=()):
        """An elastic job of three workers that make rounds until the file exists."""
        job = self.over(TESTS / "losing", "--until", self.until, *program, on=on, flags=flags)
        for worker in range(3):
            job.expect(rf"\[worker {worker}\] round 10$")
        return job

    def ends_well(self, job, *workers):
        self.until.touch()
        self.assertEqual(job.end(), 0, job.output())
        self.assertNotIn("wrong:", job.output())
        for worker in workers:
            self.assertTrue(any("done rank=" in line for line in job.lines_of(f"worker {worker}")),
                            job.output())
        self.assert_nobody_left()

    def test_servers_move_to_another_host_and_the_agent_ends(self):
        program = (TESTS / "replicating", "--steps", 300, "--say_every", 5)
        whole = self.digest(self.launch(*program, workers=2, servers=2))
        job = self.over(*program, on="one:2",
                        flags=[*self.servers_on("one", "two"), "--restarts", 3])
        self.goes_on(job, lines=1)
        agent = self.give_notice(job, "server 1")
        self.assertEqual(job.expect(LEAVES)[1], "server 1")
        job.expect("server 1 has given its place to server 3")
        job.expect(EMPTY)
        self.assertEqual(hosts.await_gone([agent]), [], job.output())
        self.goes_on(job)
        self.assertEqual(self.digest(job), whole)
        self.assertNotIn("is lost", job.output())

    def test_workers_of_an_elastic_job_are_replaced_on_other_hosts(self):
        job = self.losing("one:2,two:1", "--workers", "1:3", "-s", 2, "--restarts", 4)
        agent = self.give_notice(job, "worker 2")
        self.assertEqual(job.expect(LEAVES)[1], "server 1, worker 2")
        job.expect("server 1 has given its place to server 3")
        job.expect(r"worker 2 .*; the job goes on without it; worker 3 is started for it$")
        job.expect(r"\[worker 3\] newcomers 1 before round \d+: us$")
        job.expect(EMPTY)
        self.assertEqual(hosts.await_gone([agent]), [], job.output())
        self.goes_on(job, worker=3, what="round ")
        self.ends_well(job, 0, 1, 3)

    def test_one_that_leaves_in_order_is_replaced_as_well(self):
        job = self.losing("one:2,two:1", "--workers", "1:3", "-s", 1, "--restarts", 2,
                          program=("--leaves",))
        self.give_notice(job, "worker 2")
        job.expect(r"\[launcher\] worker 2 has left; worker 3 is started for it$")
        job.expect(EMPTY)
        job.expect(r"\[worker 3\] newcomers 1 before round \d+: us$")
        self.goes_on(job, worker=3, what="round ")
        self.ends_well(job, 0, 1, 3)
        self.assertNotIn("worker 2 is lost", job.output())

    def test_who_stands_by_has_the_place_and_the_next_one_stands_by_elsewhere(self):
        program = (TESTS / "replicating", "--steps", 300, "--say_every", 5)
        whole = self.digest(self.launch(*program, workers=2, servers=2))
        job = self.over(*program, on="one:2", flags=[
            *self.servers_on("one", "two"), "--replicas", 2, "--restarts", 4])
        self.goes_on(job, lines=1)
        agent = self.give_notice(job, "server 1")
        job.expect("server 1 is lost: .*; server 3, which stood by, has its place")
        job.expect("server 1 has all that server 3 has, and stands by for it")
        job.expect(EMPTY)
        self.assertEqual(hosts.await_gone([agent]), [], job.output())
        self.assertEqual(self.digest(job), whole)

    def test_a_job_of_fixed_size_begins_again_on_the_others_after_a_checkpoint(self):
        job = self.over(TESTS / "keeping", "--steps", 100_000, "--due", on="two:1,one:2", flags=[
            "--workers", 2, "-s", 1, "--checkpoint", self.folder / "kept", "--checkpoint-every",
            3600, "--restarts", 1])
        job.expect(r"\[worker 0\] from checkpoint=0 step=0$")
        agent = self.give_notice(job, "worker 0")
        job.expect(r"leaves the job: workers of a job of fixed size cannot leave it; a checkpoint "
                   r"is awaited for 20 s$")
        made = job.expect(r"\[scheduler\] .*checkpoint 1 of step (\d+) is complete$")[1]
        job.expect(rf"is taken away: its agent was sent SIGTERM.* the job begins again from its "
                   rf"checkpoint of step {made} .*, without two$")
        job.expect(rf"\[worker 0\] from checkpoint=\d+ step={made}$")
        self.assertEqual(hosts.await_gone([agent]), [], job.output())
        self.kill_all(job)

    def test_where_nothing_can_move_the_whole_job_ends_with_the_reason(self):
        for flags, on, says in (
                ((), "one:1,two:1", "others are started for them with --restarts K"),
                (("--restarts", 1), "one:1,two:1", "workers of a job of fixed size cannot leave"),
                (("--restarts", 1, "--workers", "2:2"), "one:1,two:1",
                 "1 workers run elsewhere, and the job may not go on with fewer than 2"),
                (("--restarts", 1, "--workers", "1:2"), "two:2", "the job has no other host")):
            with self.subTest(flags=flags, on=on):
                job = self.over(TESTS / "losing", "--until", self.until, on=on, flags=flags)
                for worker in range(2):
                    job.expect(rf"\[worker {worker}\] round 10$")
                self.give_notice(job, "worker 1")
                job.expect(f"two is not emptied: {says}")
                self.assertNotEqual(job.end(), 0)
                self.one_error(job, "Interrupted", "SIGTERM")
                self.assert_nobody_left()

    def test_two_hosts_one_after_the_other(self):
        """The last host has no other to move to."""
        job = self.losing("one:2,two:1", "--workers", "1:3", "-s", 2, "--restarts", 4)
        self.give_notice(job, "worker 2")
        job.expect(EMPTY)
        job.expect(r"\[worker 3\] newcomers 1 before round \d+: us$")
        self.give_notice(job, "worker 0")
        job.expect("one is not emptied: the job has no other host; the whole job ends")
        self.assertNotEqual(job.end(), 0)
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
