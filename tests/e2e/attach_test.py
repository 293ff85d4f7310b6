# SPDX-License-Identifier: Apache-2.0
"""Access to one's own running jobs by the programs' names only: no address and no token was kept.
The files for that are readable by their user only, and are removed with the job.
"""

import json
import pathlib
import re
import signal
import stat
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

import cluster

TOP = cluster.BIN / "stretto-top"
TRACE = cluster.BIN / "stretto-trace"
FOREVER = ("--rounds", 10**9, "--progress", 10**9)
STRAGGLER = ("--slow_rank", 1, "--slow_most", 20_000_000)  # Tens of milliseconds.


class Attach(cluster.ClusterTest):

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "jobs"

    def environment(self, **variables):
        return super().environment(STRETTO_RUNTIME_DIR=self.folder, **variables)

    def begin(self, *flags, name="demo", **options):
        """A job that runs until it is killed; its token was shown to no program."""
        job = self.train(*FOREVER, *flags, launcher=("--name", name), **options)
        job.expect("all are here")
        return job

    def tool(self, *words, status=0):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=cluster.PATIENCE, check=False, env=self.environment())
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def files(self):
        return sorted(self.folder.glob("*")) if self.folder.exists() else []

    def stop(self, *jobs):
        for job in jobs:
            job.send(signal.SIGTERM)
        for job in jobs:
            job.end()
        self.assertEqual(self.files(), [])

    def test_a_job_whose_token_nobody_kept(self):
        job = self.begin(*STRAGGLER)
        table = self.tool(TOP)
        self.assertIn("job is running, 4 nodes", table)
        self.assertIn("worker 1", table)
        address = "{}:{}".format(*job.scheduler_address())
        self.assertTrue(table.startswith(f"demo at {address}\n"), table)
        self.assertRegex(self.tool(TOP, "--list"), rf"demo +{job.pid} .*{re.escape(address)} ")
        report = json.loads(self.tool(TRACE, "--seconds", 2, "--json"))
        self.assertIn("computing of worker 1", report["verdict"])
        self.assertGreater(report["makespan_ms"], 1000)
        self.assertRegex(self.tool(TOP), r"worker 1 .* verified \d")
        (file,) = self.files()
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.folder.stat().st_mode), 0o700)
        token = re.search(r"^token (\w{16,})\Z", file.read_text(), re.MULTILINE).group(1)
        for pid in self.survivors():
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            self.assertNotIn(token, words)
        self.assertNotIn(token, table + job.output())
        self.stop(job)
        self.assertIn("no job of yours is known", self.tool(TOP, status=2))
        self.assertIn("no job of yours is known", self.tool(TRACE, status=2))

    def test_several_jobs_are_listed_and_told_apart(self):
        one, two = self.begin(name="one"), self.begin(name="two", workers=1, servers=1)
        listed = self.tool(TOP)
        self.assertRegex(listed, rf"one +{one.pid} +\d+ s +2 +2 +127.0.0.1:\d+ +\S*training ")
        self.assertRegex(listed, rf"two +{two.pid} ")
        self.assertIn("job is running, 2 nodes", self.tool(TOP, "--job", "two"))
        self.assertIn("job is running, 4 nodes", self.tool(TOP, "--job", one.pid))
        host, port = two.scheduler_address()
        self.assertIn("job is running, 2 nodes", self.tool(TOP, "--job", f"{host}:{port}"))
        lines = map(json.loads, self.tool(TOP, "--json", "--once").splitlines())
        self.assertEqual({line["job"]: len(line["nodes"]) for line in lines}, {"one": 4, "two": 2})
        self.assertIn("2 jobs of yours run here", self.tool(TRACE, status=2))
        two.send(signal.SIGKILL)  # Its file may remain, which does no harm.
        two.end()
        self.assertIn("job is running, 4 nodes", self.tool(TOP))
        self.assertEqual(len(self.files()), 1)
        self.stop(one)

    def test_json_follows_a_job_to_its_end(self):
        job = self.begin()
        self.assertIn("--json follows jobs", self.tool(TOP, "--json", "--list", status=2))
        top = self.start("top", [TOP, "--json", "--every", "0.1"])
        top.expect(r'"rounds":[1-9]', count=2)
        self.stop(job)
        self.assertEqual(top.end(), 0, top.output())
        times = [json.loads(line)["time"] for line in top.lines]
        self.assertEqual(times, sorted(times))

    def test_json_names_each_job_that_it_drops(self):
        job = self.begin()
        (file,) = self.files()
        text = re.sub(r"(?m)^scheduler .*$", "scheduler 127.0.0.1:1", file.read_text())
        other = file.with_name("silent-" + file.name)  # Of a job whose scheduler does not answer.
        other.touch(0o600)
        other.write_text(re.sub(r"(?m)^name .*$", "name silent", text))
        top = self.start("top", [TOP, "--json", "--once"])
        self.assertEqual(top.end(), 0, top.output())
        top.expect(r"^stretto-top: drops job silent at 127\.0\.0\.1:1: ")
        top.expect(r'"job":"demo"')
        other.unlink()
        self.stop(job)

    def test_one_scrape_has_all_members(self):
        job = self.begin(STRETTO_METRICS_ADDRESS=0)
        address = job.expect(r"scheduler 0: metrics at (\S+)")[1]
        missing = {rf'^stretto_{metric}{{node="{node}"}} [1-9]'
                   for metric in ("node_bytes_in_total", "node_bytes_out_total")
                   for node in ("worker 0", "worker 1", "server 0", "server 1")}
        missing |= {r'^stretto_members{role="worker"} 2$', r'^stretto_members{role="server"} 2$'}
        until = time.monotonic() + cluster.PATIENCE
        while missing and time.monotonic() < until:
            with urllib.request.urlopen(address, timeout=cluster.PATIENCE) as answer:
                text = answer.read().decode()
            missing = {one for one in missing if not re.search(one, text, re.MULTILINE)}
            threading.Event().wait(0.1)
        self.assertEqual(missing, set(), text)
        self.stop(job)

    def test_files_go_with_a_killed_launcher(self):
        """No other program searches for them."""
        job = self.train(*FOREVER, launcher=("--restarts", 1))
        job.expect("all are here")
        self.assertEqual(len(self.files()), 2, "the job's file, and a folder for the journal")
        guard = cluster.Watch({"guard": pid for pid in cluster.children_of(job.pid)
                               if cluster.name_of(pid) == "stretto-cleanup"})
        self.addCleanup(guard.close)
        job.send(signal.SIGKILL)
        job.end()
        self.assertEqual(list(guard.ends(cluster.PATIENCE)), ["guard"])
        self.assertEqual(self.files(), [])

    def test_a_standstill_says_who_and_why(self):
        self.begin("--slow_rank", 1, "--slow_most", 10**12)  # It computes for minutes.
        command = ["script", "-qec", f"{TOP} --every 0.2", "/dev/null"]  # On its own terminal.
        top = self.start("top", command)
        top.expect(r"STANDSTILL for \d+ s: worker 1 .*, and has not pushed 'tensor \d', round 1")

    def test_trace_that_recorded_nothing_fails(self):
        """Members of this job write their own traces, and send none."""
        job = self.begin(STRETTO_TRACE=self.folder.parent / "kept", BYTEPS_TRACE_ON=1)
        job.expect("STRETTO_TRACE and BYTEPS_TRACE_ON are both set")
        trace = self.folder.parent / "trace.json"
        said = self.tool(TRACE, "--seconds", 1, "--out", trace, status=1)
        self.assertIn("recorded nothing", said)
        self.assertIn("stretto-trace merge", said)
        self.assertFalse(trace.exists())
        self.assertEqual(job.output().count("are both set"), 1, "once a host")
        self.stop(job)

    def test_the_file_goes_with_a_job_that_fails(self):
        job = self.train("--fault", "exit", launcher=("--settle", 0))
        self.assertNotEqual(job.end(), 0)
        self.assertEqual(self.files(), [])

    def test_a_scheduler_started_by_hand_is_found(self):
        job = cluster.ByHand(self, workers=1, servers=1, STRETTO_JOB_TOKEN="quite a secret one")
        self.assertIn("job is gathering", self.tool(TOP))
        job.scheduler.send(signal.SIGTERM)
        job.scheduler.end()
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
