# SPDX-License-Identifier: Apache-2.0
"""Jobs without servers: their workers exchange among themselves, end like other jobs after a loss,
and get errors at once for calls that need servers.
"""

import os
import re
import signal
import subprocess
import time
import unittest
import urllib.request

import cluster

GROUPING = cluster.BUILD / "tests" / "grouping"
SHORT = ("--rounds", 40, "--progress", 20)
FOR_EVER = ("--rounds", 10**9, "--progress", 5)
MOST_SECONDS = 10.0  # From a failure to the end of the last survivor.
NONE_HERE = "wants servers, and this job has none (--servers 0)"


class NoServers(cluster.ClusterTest):

    def by_hand(self, workers=2, **variables):
        return cluster.ByHand(self, workers=workers, servers=0, **variables)

    def exchange(self, way, *flags, workers=2, **options):
        """Starts a job whose workers exchange by this way."""
        return self.train("--exchange", way, *flags, workers=workers, servers=0, **options)


class Exchanges(NoServers):

    def test_sums_by_every_way(self):
        for way in ("direct", "ring", "halving", "tree"):
            for workers in (1, 2, 3):
                with self.subTest(way, workers=workers):
                    job = self.exchange(way, *SHORT, workers=workers)
                    self.assert_success(job, workers)

    def test_sums_of_many_parts_over_every_other_transport(self):
        for transport in ("tcp", "zmq", "fabric"):
            with self.subTest(transport):
                job = self.exchange("ring", *SHORT, "--elements", 10_007, workers=3,
                                    STRETTO_TRANSPORT=transport, STRETTO_PART_BYTES=4096)
                self.assert_success(job, 3)

    def test_calls_of_a_group(self):
        for workers in (1, 2, 3):
            with self.subTest(workers=workers):
                job = self.launch(GROUPING, workers=workers, servers=0)
                self.assertEqual(job.end(), 0, job.output())
                for rank in range(workers):
                    self.assertIn(f"grouped workers={workers}", job.lines_of(f"worker {rank}"))
                self.assertEqual(job.errors(), [], job.output())
                self.assert_nobody_left()

    def test_a_job_by_hand_ends_with_its_last_worker(self):
        """Started by flags, and by BytePS's variables too."""
        scheduler = self.start("scheduler", [cluster.SCHEDULER, "--workers", 2, "--servers", 0])
        host, port = cluster.address_of(scheduler)
        workers = [self.start(f"worker {rank}", [cluster.TRAINING, "--exchange", "ring", *SHORT],
                              DMLC_PS_ROOT_URI=host, DMLC_PS_ROOT_PORT=port, DMLC_NUM_WORKER=2,
                              DMLC_NUM_SERVER=0, DMLC_WORKER_ID=rank) for rank in (0, 1)]
        for process in (*workers, scheduler):
            self.assertEqual(process.end(), 0, process.output())
        self.assert_nobody_left()

    def test_who_looks_at_it_sees_scheduler_and_workers(self):
        job = self.exchange("direct", *FOR_EVER, STRETTO_PAGE_ADDRESS="127.0.0.1:0")
        page = job.expect(r"live page at (http://\S+/)").group(1)
        job.expect("progress round=10$", count=2)
        self.assertEqual(sorted(job.members()), ["scheduler", "worker 0", "worker 1"])
        shown = ""
        deadline = time.monotonic() + cluster.PATIENCE
        while not re.search(r"worker 1 +[1-9].* verified [1-9]", shown):  # From heartbeats.
            self.assertLess(time.monotonic(), deadline, shown)
            shown = subprocess.run([cluster.BIN / "stretto-top", "--job", str(job.pid)],
                                   check=True, capture_output=True, text=True,
                                   timeout=cluster.PATIENCE, env=self.environment()).stdout
        self.assertIn("job is running, 2 nodes", shown)
        with urllib.request.urlopen(page, timeout=cluster.PATIENCE) as answer:
            self.assertEqual(answer.status, 200)
        job.send(signal.SIGTERM)
        job.end()


class Losses(NoServers):

    def test_who_is_killed_is_named_by_all_others(self):
        for victim, code in (("worker 1", "PeerLost"), ("worker 0", "PeerLost"),
                             ("scheduler", "SchedulerLost")):
            with self.subTest(victim):
                job = self.by_hand(workers=3)
                for rank in range(3):
                    job.worker(rank, ("--exchange", "ring", *FOR_EVER))
                for rank in range(3):
                    job.everybody[f"worker {rank}"].expect("progress round=10$")
                since = time.monotonic()
                job.everybody[victim].send(signal.SIGKILL)
                for name, process in job.everybody.items():
                    if name == victim:
                        continue
                    left = max(0.1, since + MOST_SECONDS - time.monotonic())
                    self.assertEqual(process.end(left), cluster.exit_of_loss(name))
                    error = self.one_error(process, code, victim)
                    self.assertEqual(error.peer, victim, error.text)
                self.assert_nobody_left()

    def test_under_the_launcher(self):
        job = self.exchange("direct", *FOR_EVER, workers=3, launcher=("--settle", 20))
        job.expect("progress round=10$", count=3)
        os.kill(job.member("worker 2"), signal.SIGKILL)
        self.assertEqual(job.end(MOST_SECONDS), 137, job.output())
        self.one_error(job, "PeerLost", "killed by SIGKILL")
        for name in ("worker 0", "worker 1"):
            (told,) = job.errors_of(name)
            self.assert_error(told, "PeerLost", "worker 2")
        self.assert_nobody_left()

    def members_of_a_host(self, **variables):
        """Two workers that read one another's memory, in the middle of their rounds."""
        job = self.by_hand(STRETTO_TRANSPORT="shm", **variables)
        for rank in (0, 1):
            job.worker(rank, ("--exchange", "direct", *FOR_EVER))
        for rank in (0, 1):
            job.everybody[f"worker {rank}"].expect("progress round=10$")
        return job

    def check_loss(self, job, victim, since):
        for name, process in job.everybody.items():
            if name == victim:
                continue
            left = max(0.1, since + MOST_SECONDS - time.monotonic())
            self.assertEqual(process.end(left), cluster.exit_of_loss(name), process.output())
            self.assertEqual(self.one_error(process, "PeerLost", victim).peer, victim)

    def test_a_killed_member_of_a_host_is_named(self):
        for victim in ("worker 0", "worker 1"):
            with self.subTest(victim):
                job = self.members_of_a_host()
                since = time.monotonic()
                job.everybody[victim].send(signal.SIGKILL)
                self.check_loss(job, victim, since)
                self.assert_nobody_left()

    def test_a_member_of_a_host_that_stops_is_lost(self):
        for victim in ("worker 0", "worker 1"):
            with self.subTest(victim):
                job = self.members_of_a_host(STRETTO_DEAD_AFTER_S=4)
                since = time.monotonic()
                job.everybody[victim].send(signal.SIGSTOP)
                self.check_loss(job, victim, since)
                # The member that was declared lost finds that the job is over.
                job.everybody[victim].send(signal.SIGCONT)
                self.assertEqual(job.everybody[victim].end(MOST_SECONDS),
                                 cluster.exit_of_loss(victim))
                self.assert_nobody_left()

    def test_a_member_of_a_host_may_stop_for_some_time(self):
        job = self.members_of_a_host(STRETTO_DEAD_AFTER_S=10)
        watch = cluster.Watch({name: process.pid for name, process in job.everybody.items()})
        self.addCleanup(watch.close)
        for victim in ("worker 0", "worker 1"):
            job.everybody[victim].send(signal.SIGSTOP)
            self.assertFalse(watch.ends(3.0), "somebody ended while a member stood still")
            job.everybody[victim].send(signal.SIGCONT)
            for process in (job.everybody["worker 0"], job.everybody["worker 1"]):
                reached = sum("progress" in line for line in process.lines)
                process.expect("progress", count=reached + 20)  # The worker makes progress.
                self.assertEqual(process.errors(), [])

    def test_who_does_not_come_is_named(self):
        job = self.by_hand(STRETTO_RENDEZVOUS_TIMEOUT_S=2)
        job.worker(0)
        for process in job.everybody.values():
            self.assertEqual(process.end(), 1, process.output())
            error = self.one_error(process, "RendezvousTimeout", "within 2 s")
            self.assertEqual(error.peer, "worker 1", error.text)

    def test_who_leaves_early_is_named(self):
        job = self.by_hand()
        for rank in (0, 1):
            job.worker(rank, ("--exchange", "direct", *FOR_EVER, "--fault", "leave"))
        self.assertEqual(job.everybody["worker 1"].end(), 0)
        left = job.everybody["worker 0"]
        self.assertEqual(left.end(MOST_SECONDS), 1, left.output())
        self.one_error(left, "PeerLost", "worker 1 has left the job")
        job.scheduler.end()


class Refusals(NoServers):

    def test_tensors_that_want_servers(self):
        for flags, what in (((), "f32[1000] sync sum"),
                            (("--mode", "bounded"), "f32[1000] bounded(2) sum"),
                            (("--mode", "async"), "f32[1000] async sum")):
            with self.subTest(what):
                job = self.train(*flags, servers=0)
                self.assertEqual(job.end(), 1, job.output())
                for error in job.errors_of("worker 0") + job.errors_of("worker 1"):
                    if error.code != "PeerLost":  # A peer ended first, by the same mistake.
                        self.assert_error(error, "InvalidArgument", what, NONE_HERE,
                                          "exchange among workers", "or start servers")
                self.assertIn(NONE_HERE, job.output())
                self.assert_nobody_left()

    def test_modes_that_cannot_go_another_way_either(self):
        job = self.exchange("ring", "--mode", "async")
        self.assertEqual(job.end(), 1, job.output())
        self.assertRegex(job.output(), "exchange ring is for mode sync, this is async")

    def test_jobs_that_go_on_without_lost_workers(self):
        job = self.launch("true", workers="1:2", servers=0)
        self.assertEqual(job.end(), 2, job.output())
        self.one_error(job, "InvalidArgument", "--servers is 0, and --workers is 1:2")
        scheduler = self.start("scheduler", [cluster.SCHEDULER], STRETTO_SERVERS=0,
                               STRETTO_MIN_WORKERS=1)
        self.assertEqual(scheduler.end(), 1, scheduler.output())
        self.one_error(scheduler, "InvalidArgument", "STRETTO_MIN_WORKERS is 1, and STRETTO_SERV")

    def test_processes_that_were_told_otherwise(self):
        job = self.by_hand()
        strangers = (
            ({"STRETTO_SERVERS": 1}, cluster.SERVER, "Refused", "was told of 2 workers and 1 ser"),
            ({"STRETTO_SERVERS": 2}, cluster.TRAINING, "Refused", "2 workers and 0 servers"),
            ({}, cluster.SERVER, "InvalidArgument", "the job is to have none"))
        for index, (variables, program, code, words) in enumerate(strangers):
            stranger = self.start(f"stranger {index}", [program], STRETTO_SCHEDULER=job.address,
                                  **{**job.variables, **variables})
            self.assertEqual(stranger.end(), 1, stranger.output())
            self.one_error(stranger, code, words)
        for rank in (0, 1):
            job.worker(rank, ("--exchange", "tree", *SHORT))
        for process in job.everybody.values():
            self.assertEqual(process.end(), 0, process.output())

    def test_what_is_planned_has_no_server(self):
        shown = self.start("launcher", [cluster.LAUNCH, "--workers", 2, "--servers", 0,
                                        "--dry-run", "--", "true"])
        self.assertEqual(shown.end(), 0, shown.output())
        members = [match[1] for match in (re.match(r"\[([a-z]+ ?\d?)\]", line)
                                          for line in shown.lines) if match]
        self.assertEqual(members, ["scheduler", "worker 0", "worker 1"])
        self.assertIn("STRETTO_SERVERS=0", shown.output())


if __name__ == "__main__":
    unittest.main()
