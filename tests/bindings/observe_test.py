# SPDX-License-Identifier: Apache-2.0
"""Observation of jobs of real processes: traces on demand and from the start, stretto-top, metrics,
and the live page in a real browser.
"""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

import jobs
from jobs import cluster

TRACE = cluster.BIN / "stretto-trace"
TOP = cluster.BIN / "stretto-top"
FOREVER = 100_000  # Rounds; the test ends such a job.
MUCH = 0.2  # Seconds lost each round: more than a busy machine takes from another member.


class Observed(jobs.PythonTest):

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def job(self, where="nowhere", who=1, rounds=FOREVER, lost=0.05, workers=2, **variables):
        return self.python("observed_worker.py", rounds, where, who, lost, workers=workers,
                           STRETTO_JOB_TOKEN="secret", **variables)

    def tool(self, *words, token="secret", status=0):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=cluster.PATIENCE, check=False,
                              env=self.environment(STRETTO_JOB_TOKEN=token,
                                                   STRETTO_RUNTIME_DIR=self.folder / "none"))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def scheduler_of(self, job):
        job.expect("all are here")
        host, port = job.scheduler_address()
        return f"{host}:{port}"

    def trace(self, scheduler, iterations=10):
        path = self.folder / "trace.json"
        said = self.tool(TRACE, "--job", scheduler, "--iterations", iterations, "--out", path)
        self.assertRegex(said, r"\d+ spans of \d+ nodes, 0 dropped")
        return path

    def analysis(self, path):
        return json.loads(self.tool(TRACE, "analyse", path, "--json"))

    def stop(self, job):
        job.send(15)
        job.end()

    def test_wrong_arguments_are_told_apart(self):
        # No job is found here.
        for words in ((TOP,), (TOP, "--job"), (TOP, "--every", "0", "--job", "h:1"), (TOP, "word"),
                      (TRACE,), (TRACE, "--nonsense"), (TRACE, "--iterations", "x"),
                      (TRACE, "--job", "no address"), (TRACE, "merge", "folder"),
                      (TRACE, "--job", "h:1", "--out", "f", "--iterations", "0")):
            self.assertIn("op=arguments", self.tool(*words, status=2))
        self.assertIn("stretto-trace [--job", self.tool(TRACE, "--help"))
        self.assertIn("stretto-top", self.tool(TOP, "--version"))

    def test_a_trace_says_what_it_should(self):
        job = self.job("compute")
        path = self.trace(self.scheduler_of(job))
        events = json.loads(path.read_text())["traceEvents"]
        seen = {event.get("cat") for event in events}
        for kind in ("queue_wait", "send", "receive", "sum", "pull_wait", "input", "exchange"):
            self.assertIn(kind, seen)
        begun = {event["id"] for event in events if event["ph"] == "s"}
        ended = {event["id"] for event in events if event["ph"] == "f"}
        self.assertGreater(len(begun & ended), 20)
        self.tool(TRACE, "analyse", path, "--times", self.folder / "t", "--order",
                  self.folder / "o")
        order = (self.folder / "o").read_text()
        self.assertEqual(set(re.findall(r"layer\d", order)), {"layer0", "layer1", "layer2"})
        self.assertEqual(len(json.loads((self.folder / "t").read_text())["transfers"]), 3)
        self.stop(job)

    def test_a_job_that_gathers_is_waited_for(self):
        job = cluster.ByHand(self, workers=1, servers=1)
        path = self.folder / "trace.json"
        words = (TRACE, "--job", job.address, "--out", path)
        said = self.tool(*words, "--iterations", 20, "--seconds", 1, token="", status=1)
        self.assertIn("still gathers its nodes after 1 s", said)
        self.assertFalse(path.exists())
        tool = self.start("tool", [str(word) for word in words])
        tool.expect("the trace waits for it")
        job.server(0)
        stop = self.folder / "stop"
        worker = job.worker(0, ("--rounds", 10**9, "--until", stop))
        self.assertEqual(tool.end(), 0, tool.output())
        tool.expect(r"spans of 2 nodes")
        stop.touch()
        self.assertEqual(worker.end(), 0, worker.output())

    def test_traces_from_the_start_are_joined(self):
        job = self.job(rounds=20, STRETTO_TRACE=self.folder / "kept")
        self.assert_done(job)
        self.tool(TRACE, "merge", self.folder / "kept", "--out", self.folder / "all.json")
        self.assertGreaterEqual(len(self.analysis(self.folder / "all.json")["iterations"]), 15)

    def test_traces_of_two_jobs_in_one_folder_are_no_one_trace(self):
        for workers in (2, 3):  # Only the last worker finds no file of the first.
            job = self.job(rounds=5, workers=workers, STRETTO_TRACE=self.folder)
            self.assert_done(job)
        job.expect("worker-0.trace is there already, from another job")
        said = self.tool(TRACE, "merge", self.folder, "--out", self.folder / "all.json", status=1)
        self.assertIn("files of 2 jobs", said)
        self.assertRegex(said, r"(: |; )worker-2\.trace;")

    def test_a_job_that_stands_still_says_for_whom(self):
        job = self.job("hang", lost=3, workers=3, STRETTO_TRACE=self.folder / "kept")
        self.assertNotEqual(job.end(), 0)
        self.tool(TRACE, "merge", self.folder / "kept", "--out", self.folder / "all.json")
        said = self.tool(TRACE, "analyse", self.folder / "all.json")
        self.assertRegex(said, r"^for the last \d+\.\d s nothing moved: ")
        self.assertRegex(said, r"\d tensors? at server \d waits? for the push of worker 1; before")

    def test_the_layout_that_byteps_users_know(self):
        job = self.job(rounds=20, BYTEPS_TRACE_ON=1, BYTEPS_TRACE_START_STEP=5,
                       BYTEPS_TRACE_END_STEP=8, BYTEPS_TRACE_DIR=self.folder)
        self.assert_done(job)
        self.assertIn("Local rank 0: communication traces output done!", job.lines_of("worker 0"))
        events = json.loads((self.folder / "0" / "comm.json").read_text())["traceEvents"]
        wholes = [event for event in events if event["name"] == "Comm.byteps.layer0"]
        self.assertEqual(len(wholes), 4)
        self.assertTrue(all(event["tid"] == "total" for event in wholes))
        for stage in ("PUSH", "PULL"):
            name = f"Comm.byteps.layer0.{stage}"
            self.assertEqual(sum(event["name"] == name for event in events), 4)

    def test_tools_that_may_not_look_are_told_why(self):
        job = self.job()
        scheduler = self.scheduler_of(job)
        self.assertIn("another job token", self.tool(TOP, "--job", scheduler, token="no", status=1))
        self.assertIn("is called nonsense", self.tool(TOP, "--job", "nonsense", status=2))
        self.assertIn("host:port", self.tool(TOP, "--job", "nonsense:port", status=1))
        table = self.tool(TOP, "--job", scheduler)
        self.assertRegex(table, r"worker 1 +\d+")
        self.assertRegex(table, r"server 1")
        self.assertIn("cannot be analysed", self.tool(TRACE, "analyse", TRACE, status=1))
        self.stop(job)

    def test_metrics_of_every_role(self):
        job = self.job(STRETTO_METRICS_ADDRESS=0)
        self.scheduler_of(job)
        for member in ("scheduler", "server 0", "server 1", "worker 0", "worker 1"):
            address = job.expect(rf"{member}(?: 0)?: metrics at (\S+)")[1]
            text = urllib.request.urlopen(address, timeout=cluster.PATIENCE).read().decode()
            self.assertIn("stretto_memory_bytes", text)
        self.stop(job)

    def test_the_live_page_in_a_browser(self):
        job = self.job("compute", lost=MUCH, workers=3, STRETTO_PAGE_ADDRESS=0)
        page = job.expect(r"live page at (\S+)/")[1]
        scheduler = self.scheduler_of(job)
        self.trace(scheduler, 5)
        request = urllib.request.Request(page + "/picture", headers={"Host": "evil.example"})
        with self.assertRaises(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=cluster.PATIENCE)
        shown = self.browse(page)
        for word in ("job is running", "worker 2", "server 1", "3 workers, 2 shards"):
            self.assertIn(word, shown)
        self.assertIn("mostly waited for computing of worker 1", shown)
        self.assertRegex(shown, r"number 1 is done, \d+ spans")
        self.assertRegex(shown, '<p id="error"[^>]* hidden')
        for word in ("Step time", "Pushed (", "Staleness", "loss"):
            self.assertIn(word, shown)
        self.stop(job)

    def browse(self, page):
        """The page's document, after its scripts have run for four seconds of browser time."""
        done = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
             f"--user-data-dir={self.folder / 'browser'}", "--virtual-time-budget=4000", page],
            capture_output=True, text=True, timeout=cluster.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main(verbosity=2)
