# SPDX-License-Identifier: Apache-2.0
"""Jobs that cannot start, or start late: every start error ends in seconds with exit status 1 and
one ERROR line that names the expected and the actual value, and others are not disturbed.
"""

import pathlib
import re
import signal
import socket
import time
import unittest

import cluster
import wire

SHORT = ("--rounds", 20, "--progress", 10)
REFUSAL_SECONDS = 4.0  # Before any timeout.
# Includes the start of a refused process, which takes time on a busy machine.
START_SECONDS = 2.0


class Startup(cluster.ClusterTest):

    def refused(self, process, code, *words, seconds=cluster.PATIENCE):
        """The process ends with status 1 and one ERROR line with this code and these words."""
        self.assertEqual(process.end(seconds), 1, process.output())
        return self.one_error(process, code, *words)

    def finish(self, job, workers=2):
        """The job trains to its end undisturbed."""
        for name, process in job.everybody.items():
            self.assertEqual(process.end(), 0, process.output())
            if name.startswith("worker"):
                process.expect(r"verified values=\d+ wrong=0 ")
        trained = [name for name in job.everybody if name.startswith("worker")]
        self.assertEqual(len(trained), workers)
        self.assert_nobody_left()


class Rendezvous(Startup):

    def test_a_missing_node_is_named(self):
        missing = {"worker 1": (2, 1), "server 1": (1, 2), "server 1, worker 1": (1, 1)}
        for names, (servers, workers) in missing.items():
            with self.subTest(names):
                job = cluster.ByHand(self, STRETTO_RENDEZVOUS_TIMEOUT_S=6)
                since = time.monotonic()
                for rank in range(servers):
                    job.server(rank)
                for rank in range(workers):
                    job.worker(rank, SHORT)
                for process in job.everybody.values():
                    error = self.refused(process, "RendezvousTimeout", "within 6 s", names)
                    self.assertEqual(error.peer, names)
                    self.assertLess(process.ended_at - since, 6 + 4, process.name)
                self.assert_nobody_left()

    def test_nobody_at_all(self):
        job = cluster.ByHand(self, STRETTO_RENDEZVOUS_TIMEOUT_S=1)
        self.refused(job.scheduler, "RendezvousTimeout", "server 0, server 1, worker 0, worker 1")

    def test_a_late_node_is_waited_for(self):
        job = cluster.ByHand(self, STRETTO_LOG_LEVEL="debug")
        for rank in (0, 1):
            job.server(rank)
        job.worker(0, SHORT)
        for name in ("server 0", "server 1", "worker 0"):
            job.scheduler.expect(f"{name} came from")
        job.worker(1, SHORT)
        self.finish(job)

    def test_nodes_before_their_scheduler(self):
        """A scheduler that starts later, at a known address, is found."""
        with socket.create_server(("127.0.0.1", 0)) as holder:
            address = f"127.0.0.1:{holder.getsockname()[1]}"
            # No ZMTP peer listens here, and the backlog takes the first connection.
            worker = self.start("worker 0", [cluster.TRAINING, *SHORT], STRETTO_SCHEDULER=address,
                                STRETTO_RANK=0)
            holder.settimeout(cluster.PATIENCE)
            connection, _ = holder.accept()
            connection.close()
        scheduler = self.start("scheduler", [cluster.SCHEDULER, "--address", address])
        server = self.start("server 0", [cluster.SERVER], STRETTO_SCHEDULER=address)
        for process in (worker, server, scheduler):
            self.assertEqual(process.end(), 0, process.output())

    def test_no_scheduler(self):
        with socket.create_server(("127.0.0.1", 0)) as holder:
            address = f"127.0.0.1:{holder.getsockname()[1]}"
        for program in (cluster.TRAINING, cluster.SERVER):
            with self.subTest(program.name):
                process = self.start(program.name, [program], STRETTO_SCHEDULER=address,
                                     STRETTO_RENDEZVOUS_TIMEOUT_S=1)
                error = self.refused(process, "RendezvousTimeout", address, "1 s", seconds=10)
                self.assertEqual(error.peer, "scheduler")

    def test_an_unknown_host(self):
        for program in (cluster.TRAINING, cluster.SERVER):
            with self.subTest(program.name):
                process = self.start(program.name, [program], STRETTO_RENDEZVOUS_TIMEOUT_S=2,
                                     STRETTO_SCHEDULER="no-such-host.invalid:9000")
                self.assertEqual(process.end(15), 1, process.output())
                errors = process.errors()
                self.assertEqual(len(errors), 1, process.output())
                self.assertIn(errors[0].code, ("Network", "RendezvousTimeout"), errors[0].text)
                self.assertIn("no-such-host.invalid", errors[0].text)


class Refusals(Startup):
    """Invalid members of a job that waits for one worker; then the right one comes."""

    def setUp(self):
        super().setUp()
        self.job = cluster.ByHand(self, STRETTO_JOB_TOKEN="the secret", STRETTO_LOG_LEVEL="debug")
        for rank in (0, 1):
            self.job.server(rank)
        self.job.worker(0, SHORT)

    def stranger(self, *words, code="Refused", program=cluster.TRAINING, **variables):
        """Starts a process that must be refused immediately, with a cause that has these words."""
        given = self.job.variables | {"STRETTO_SCHEDULER": self.job.address} | variables
        since = time.monotonic()
        process = self.start("stranger", [program], **given)
        error = self.refused(process, code, *words)
        self.assertLess(process.ended_at - since, REFUSAL_SECONDS + START_SECONDS)
        return error

    def complete(self):
        self.job.worker(1, SHORT)
        self.finish(self.job)

    def greet(self, *words, **hello):
        """Sends a manual hello; the answer is a fault with these words, soon."""
        host, _, port = self.job.address.rpartition(":")
        with wire.Connection((host, int(port))) as connection:
            since = time.monotonic()
            connection.open()
            connection.send(wire.control(wire.hello(**({"token": "the secret"} | hello))))
            kind, fault = connection.receive_control()
            self.assertLess(time.monotonic() - since, REFUSAL_SECONDS)
            self.assertEqual(kind, wire.FAULT)
            self.assertEqual(fault[1], 5)  # Refused.
            for word in words:
                self.assertIn(word, fault[2].decode())

    def test_duplicate_rank(self):
        self.job.scheduler.expect("server 1 came from")
        self.greet("stranger:1 asks to be server 1", "is that already", rank=1, role=wire.SERVER)
        error = self.stranger("server 1", "two processes have the same rank",
                              program=cluster.SERVER, STRETTO_RANK=1)
        # Both processes are named, by host and process id.
        self.assertIn(f":{self.processes[-1].pid} asks", error.text)
        self.assertIn(f":{self.job.everybody['server 1'].pid} is that already", error.text)
        self.complete()

    def test_wrong_world_size(self):
        self.stranger("3 workers and 2 servers", "2 workers and 2 servers", STRETTO_WORLD_SIZE=3)
        self.stranger("2 workers and 5 servers", "2 workers and 2 servers", STRETTO_SERVERS=5)
        self.stranger("2 shards", "1 shards", program=cluster.SERVER, STRETTO_SHARDS=2)
        self.complete()

    def test_wrong_token(self):
        self.stranger("another job token", STRETTO_JOB_TOKEN="guessed")
        self.stranger("no job token", STRETTO_JOB_TOKEN="")
        self.stranger("another job token", program=cluster.SERVER, STRETTO_JOB_TOKEN="the secre")
        for line in self.job.scheduler.lines:
            self.assertNotIn("the secret", line)
        self.complete()

    def test_wrong_protocol(self):
        self.greet("speaks protocol 9", "this side speaks 5", "release 9.9.9", protocol=9,
                   version="9.9.9")
        self.greet("speaks protocol 0", "this side speaks 5", protocol=0)
        self.complete()

    def test_wrong_role_and_rank(self):
        self.greet("comes as scheduler", "wanted a worker or a server", role=1)
        self.greet("role 77", role=77)
        self.greet("rank 2 of 2", "ranks are 0 to 1", rank=2)
        self.greet("rank -7 of 2", rank=-7)
        self.complete()


class OneTooMany(Startup):

    def test_all_have_come(self):
        """Once the job runs, a worker without a rank gets an error that no member is missing."""
        job = cluster.ByHand(self)
        for rank in (0, 1):
            job.server(rank)
        for rank in (0, 1):
            job.worker(rank, ("--rounds", 10**9, "--progress", 10))
        job.scheduler.expect("all are here")
        given = job.variables | {"STRETTO_SCHEDULER": job.address}
        for role, program in (("worker", cluster.TRAINING), ("server", cluster.SERVER)):
            stranger = self.start(f"another {role}", [program], **given)
            self.refused(stranger, "Refused", f"to be a {role}", "all 2 have come")
        worker = job.everybody["worker 0"]
        reached = sum("progress" in line for line in worker.lines)
        worker.expect("progress", count=reached + 2)  # The others were not disturbed.


class Settings(Startup):

    def test_bad_values(self):
        """Each variable, with an invalid value: named, with the value and the valid ones."""
        numbers = ("STRETTO_WORLD_SIZE", "STRETTO_SERVERS", "STRETTO_SHARDS", "STRETTO_RANK",
                   "STRETTO_PART_BYTES", "STRETTO_LINK_WINDOW_BYTES", "STRETTO_TOTAL_WINDOW_BYTES",
                   "STRETTO_MEMORY_LIMIT_MIB", "DMLC_NUM_WORKER", "DMLC_NUM_SERVER",
                   "BYTEPS_LOCAL_SIZE")
        seconds = ("STRETTO_HEARTBEAT_S", "STRETTO_DEAD_AFTER_S", "STRETTO_STALL_ERROR_S",
                   "STRETTO_RENDEZVOUS_TIMEOUT_S", "STRETTO_OPERATION_TIMEOUT_S")
        cases = [(name, "many", "whole number") for name in numbers]
        cases += [(name, "-2", "whole number") for name in numbers]
        cases += [(name, "9999999999999999999999", "whole number") for name in numbers]
        cases += [(name, value, "seconds") for name in seconds
                  for value in ("soon", "0", "-1", "nan", "1e99")]
        cases += [("STRETTO_PART_BYTES", "100", "multiple of 64"),
                  ("STRETTO_WORLD_SIZE", "0", "1 to"), ("STRETTO_SERVERS", "4 ", "whole number"),
                  ("STRETTO_DEAD_AFTER_S", "0.5", "two heartbeats"),
                  ("STRETTO_RANK", "7", "job of 1"),
                  ("STRETTO_SCHEDULER", "nowhere", "host:port"),
                  ("STRETTO_SCHEDULER", "host:99999", "host:port"),
                  ("STRETTO_SCHEDULER", ":1", "host:port")]
        for name, value, wanted in cases:
            with self.subTest(name, value=value):
                given = {"STRETTO_SCHEDULER": "127.0.0.1:9", name: value}
                process = self.start("worker", [cluster.TRAINING], **given)
                named = (wanted,) if "job of" in wanted else (wanted, value)
                if "two heartbeats" in wanted:
                    named = (wanted, name)
                self.refused(process, "InvalidArgument", *named, seconds=10)

    def test_no_scheduler_named(self):
        for program in (cluster.TRAINING, cluster.SERVER):
            process = self.start(program.name, [program])
            self.refused(process, "InvalidArgument", "stretto-launch", "STRETTO_SCHEDULER")

    def test_other_hosts_need_a_token(self):
        for program in (cluster.SCHEDULER, cluster.SERVER):
            with self.subTest(program.name):
                process = self.start(program.name, [program], STRETTO_BIND_HOST="0.0.0.0",
                                     STRETTO_SCHEDULER="127.0.0.1:9")
                self.refused(process, "InvalidArgument", "0.0.0.0", "STRETTO_JOB_TOKEN")
        process = self.start("scheduler", [cluster.SCHEDULER], DMLC_PS_ROOT_URI="192.0.2.1",
                             DMLC_PS_ROOT_PORT=9000)
        self.refused(process, "InvalidArgument", "192.0.2.1", "STRETTO_JOB_TOKEN")
        process = self.start("scheduler", [cluster.SCHEDULER], STRETTO_SCHEDULER="192.0.2.1:9000")
        self.refused(process, "InvalidArgument", "192.0.2.1", "STRETTO_JOB_TOKEN")

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as holder:
            address = f"127.0.0.1:{holder.getsockname()[1]}"
            process = self.start("scheduler", [cluster.SCHEDULER, "--address", address])
            self.refused(process, "Network", address, "in use")

    def test_an_address_that_is_not_ours(self):
        process = self.start("scheduler", [cluster.SCHEDULER], STRETTO_BIND_HOST="192.0.2.1",
                             STRETTO_JOB_TOKEN="0123456789abcdef")
        self.refused(process, "Network", "192.0.2.1")
        process = self.start("scheduler", [cluster.SCHEDULER, "--address", "192.0.2.1:9000"],
                             STRETTO_JOB_TOKEN="0123456789abcdef")
        self.refused(process, "Network", "192.0.2.1")

    def test_too_few_files(self):
        for program, name in ((cluster.SCHEDULER, "scheduler"), (cluster.SERVER, "server")):
            with self.subTest(name):
                process = self.start(name, [program], open_files=16,
                                     STRETTO_SCHEDULER="127.0.0.1:0")
                self.refused(process, "Resource", "open 16 files", "needs ", "ulimit -n")
        worker = self.start("worker", [cluster.TRAINING], open_files=16,
                            STRETTO_SCHEDULER="127.0.0.1:9", STRETTO_SERVERS=64,
                            STRETTO_RENDEZVOUS_TIMEOUT_S=2)
        self.refused(worker, "Resource", "16", "files")

    def test_too_few_files_for_the_launcher(self):
        command = [cluster.LAUNCH, "--workers", 2, "--servers", 2, "--", cluster.TRAINING]
        process = self.start("launcher", command, open_files=16)
        self.refused(process, "Resource", "16", "need")
        self.assert_nobody_left()


class OtherNames(Startup):
    """Programs and scripts written for ps-lite or BytePS."""

    def names(self, scheduler_port, **variables):
        return {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": scheduler_port,
                "DMLC_NUM_WORKER": 2, "DMLC_NUM_SERVER": 2} | variables

    def run_job(self, workers, **shared):
        given = self.names(0, **shared)
        scheduler = self.start("scheduler", [cluster.SCHEDULER], DMLC_ROLE="scheduler", **given)
        given["DMLC_PS_ROOT_PORT"] = cluster.address_of(scheduler)[1]
        others = [self.start("server", [cluster.SERVER], DMLC_ROLE="server", **given)
                  for _ in range(2)]
        others += [self.start(f"worker {rank}", [cluster.TRAINING, *SHORT], DMLC_ROLE="worker",
                              **(given | variables)) for rank, variables in enumerate(workers)]
        for process in (*others, scheduler):
            self.assertEqual(process.end(), 0, process.output())
        for rank, process in enumerate(others[2:]):
            process.expect(f"joined as {rank} of {len(workers)}")
        self.assert_nobody_left()

    def test_ps_lite(self):
        self.run_job([{"DMLC_WORKER_ID": 0}, {"DMLC_WORKER_ID": 1}])

    def test_byteps_local_size(self):
        """Two hosts of two, set for all members, or for the workers only."""
        workers = [{"DMLC_WORKER_ID": host, "BYTEPS_LOCAL_RANK": local}
                   for host in (0, 1) for local in (0, 1)]
        self.run_job(workers, BYTEPS_LOCAL_SIZE=2)
        self.run_job([worker | {"BYTEPS_LOCAL_SIZE": 2} for worker in workers])

    def test_stretto_names_go_first(self):
        process = self.start("scheduler", [cluster.SCHEDULER], STRETTO_WORLD_SIZE="many",
                             DMLC_NUM_WORKER=1)
        self.refused(process, "InvalidArgument", "STRETTO_WORLD_SIZE")


class Launcher(Startup):

    def test_a_program_that_is_not_there(self):
        job = self.launch("./no-such-program")
        self.assertEqual(job.end(), 127, job.output())
        self.one_error(job, "InvalidArgument", "no-such-program")
        self.assert_nobody_left()

    def test_a_misspelt_variable(self):
        """The launcher names it once, and the job runs."""
        job = self.train(*SHORT, STRETTO_TRANSPROT="tcp")
        self.assert_success(job)
        told = [line for line in job.lines if "STRETTO_TRANSPROT" in line]
        self.assertEqual(told, ["[launcher] warning: STRETTO_TRANSPROT is set, which nothing of "
                                "Stretto reads; is STRETTO_TRANSPORT meant?"], job.output())

    def test_no_program(self):
        process = self.start("launcher", [cluster.LAUNCH, "--workers", 2])
        self.assertEqual(process.end(), 2, process.output())
        self.one_error(process, "InvalidArgument", "PROGRAM")

    def test_a_program_that_never_joins(self):
        """The missing member is named, and the program is ended."""
        job = self.launch("/usr/bin/tail", "-f", "/dev/null", workers=1,
                          flags=("--start-timeout", 6, "--settle", 1))
        self.assertEqual(job.end(30), 1, job.output())
        self.assert_error(job.errors_of("scheduler")[0], "RendezvousTimeout", "worker 0")
        self.assert_nobody_left()

    def test_launched_worker_may_join_late(self):
        """The scheduler names the missing members, and no timeout runs."""
        program = f"test $RANK = 0 || sleep 12; exec {cluster.TRAINING} --rounds 20"
        job = self.launch("/bin/sh", "-c", program, STRETTO_LOG_LEVEL="info")
        job.expect(r"\[scheduler\] .*waited 10 s for its members: "
                   r"worker 1 runs, has not joined yet$")
        self.assertEqual(job.end(), 0, job.output())
        self.assert_nobody_left()

    def test_a_worker_that_ends_before_it_joins(self):
        """It is detected and named long before the rendezvous timeout of 60 s."""
        job = self.launch("/bin/sh", "-c", f"test $RANK = 1 || exec {cluster.TRAINING}")
        self.assertEqual(job.end(45), 1, job.output())
        error = self.one_error(job, "PeerLost", "exited with status 0 before it had joined")
        self.assertEqual(error.who, "worker 1", job.output())
        self.assert_nobody_left()

    def test_workers_that_need_no_job(self):
        """A program that never joins, and succeeds, is no failure."""
        job = self.launch("/bin/true")
        self.assertEqual(job.end(), 0, job.output())
        self.assertEqual(job.errors(), [], job.output())
        self.assert_nobody_left()


class Signals(Startup):

    def blocked_everywhere(self, process, number):
        """This signal is blocked in all threads of the process."""
        for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
            status = (task / "status").read_text(encoding="ascii")
            name = re.search(r"Name:\s+(\S+)", status).group(1)
            mask = int(re.search(r"SigBlk:\s+([0-9a-f]+)", status).group(1), 16)
            self.assertTrue(mask >> (number - 1) & 1, f"{process.name}, thread {name}")

    def test_every_program_says_why_it_ends(self):
        """Also with threads that are not ours: of metrics and of the page."""
        job = cluster.ByHand(self, STRETTO_METRICS_ADDRESS="127.0.0.1:0",
                             STRETTO_PAGE_ADDRESS="127.0.0.1:0", STRETTO_SHARDS=2)
        server = job.server(0)
        for process in (server, job.scheduler):
            process.expect("metrics at http")
            for number in (signal.SIGTERM, signal.SIGINT):
                self.blocked_everywhere(process, number)
        for process in (server, job.scheduler):
            process.send(signal.SIGTERM)
            self.refused(process, "Interrupted", "signal")
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
