# SPDX-License-Identifier: Apache-2.0
"""Jobs of real processes lose 50 ms in an iteration: by a worker that computes or reads, by a
stopped server, or on one link. stretto-trace must name the cause. As a program, `delays_test.py
--times 10` loses time ten times in each way, and prints how often the trace was right; as a test
twice.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import jobs
import slow_link
from jobs import cluster

TRACE = cluster.BIN / "stretto-trace"
FOREVER = 100_000  # Rounds; the test ends such a job.
LOST_S = 0.05
BETWEEN_S = 0.02  # Between losses: a few undisturbed iterations.
SERVER_HOST, LINK_HOST = "127.0.0.1", "127.0.0.2"


class Delays(jobs.PythonTest):
    """Two workers and two servers; rank 1 of each is slow."""

    times = 2

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "trace.json"

    def environment(self, **variables):
        return super().environment(STRETTO_JOB_TOKEN="secret", **variables)

    def found(self, scheduler, iterations):
        """The analysis of a trace of a running job."""
        for words in (("--job", scheduler, "--iterations", iterations, "--out", self.path),
                      ("analyse", self.path, "--json")):
            done = subprocess.run([str(word) for word in (TRACE, *words)], capture_output=True,
                                  text=True, timeout=cluster.PATIENCE, check=False,
                                  env=self.environment())
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def check(self, what, scheduler, causes, culprit, iterations=8, losing=contextlib.nullcontext):
        """Traces repeatedly: each analysis must name one of the causes, and the culprit."""
        wrong = []
        for _ in range(self.times):
            with losing():
                found = self.found(scheduler, iterations)
            right = found["cause"] in causes and found["culprit"] == culprit
            if not right or len(found["iterations"]) < 2:
                wrong.append(found)
        print(f"NAMED {what}: {self.times - len(wrong)} of {self.times}", flush=True)
        self.assertEqual(wrong, [])

    def in_a_job(self, what, causes, culprit, where="nowhere", stopped=None, **more):
        """Checks a job under the launcher, in which the member `stopped`, if any, is stopped."""
        job = self.python("observed_worker.py", FOREVER, where, 1, LOST_S,
                          servers=more.pop("servers", 2), forks=stopped is None)
        job.expect("all are here")
        host, port = job.scheduler_address()
        if stopped is not None:
            pid = job.member(stopped)
            more["losing"] = lambda: self.stopping(pid)
        self.check(what, f"{host}:{port}", causes, culprit, **more)
        job.send(signal.SIGTERM)
        job.end()

    def test_computing(self):
        self.in_a_job("compute", ["compute"], "worker 1", where="compute")

    def test_reading_input(self):
        self.in_a_job("input", ["input"], "worker 1", where="input")

    def test_a_server_that_does_not_run(self):
        self.in_a_job("server", ["server_queue"], "server 1", stopped="server 1", iterations=20)

    def test_the_only_server_that_does_not_run(self):
        self.in_a_job("only server", ["server_queue"], "server 0", stopped="server 0",
                      iterations=20, servers=1)

    def test_a_worker_that_does_not_run(self):
        self.in_a_job("worker", ["compute", "input"], "worker 1", stopped="worker 1",
                      iterations=20)

    @contextlib.contextmanager
    def stopping(self, pid):
        """Stops a process repeatedly, like a process without a processor."""
        over = threading.Event()

        def run():
            while not over.wait(BETWEEN_S):
                os.kill(pid, signal.SIGSTOP)
                try:
                    over.wait(LOST_S)
                finally:
                    os.kill(pid, signal.SIGCONT)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def listening_port(self, process):
        until = time.monotonic() + cluster.PATIENCE
        while not (ports := cluster.listening_ports(process.pid)):
            self.assertLess(time.monotonic(), until, process.output())
            os.sched_yield()
        return ports[0]

    def test_one_link(self):
        job = cluster.ByHand(self, STRETTO_TRANSPORT="tcp")
        job.server(0)
        server = job.server(1, STRETTO_NODE_HOST=LINK_HOST)
        port = self.listening_port(server)
        workers = []
        link = slow_link.SlowLink(
            (LINK_HOST, port), (SERVER_HOST, port), LOST_S,
            lambda port: port in cluster.connected_ports(workers[1].pid))
        self.addCleanup(link.close)
        for rank in range(2):
            command = [sys.executable, jobs.HERE / "observed_worker.py", FOREVER, "nowhere", 1, 0]
            variables = job.variables | {"STRETTO_RANK": rank, "STRETTO_SCHEDULER": job.address}
            workers.append(self.start(f"worker {rank}", command, **variables))
        job.scheduler.expect("all are here")
        self.check("link", job.address, ["push", "pull"], "worker 1 and server 1")
        self.assertEqual(link.slow, 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--times"]:
        Delays.times = int(sys.argv[2])
        del sys.argv[1:3]
    unittest.main(verbosity=2)
