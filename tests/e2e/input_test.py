# SPDX-License-Identifier: Apache-2.0
"""Input in jobs of real processes: the scheduler names the starved one of four reading workers,
with the cause, and reports its end; observers see it too. If the others took its bandwidth they are
throttled until all have the same.
"""

import pathlib
import re
import subprocess
import tempfile
import threading
import time
import unittest

import cluster

READING = cluster.BUILD / "tests" / "reading"
WORKERS = 4
SLOW = 2
MODEST = 1
TOKEN = "0123456789abcdef"
SECONDS = 120  # For one test, for some windows of a second; three such are below ctest's limit.


class Input(cluster.ClusterTest):

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "data").write_bytes(bytes(64 << 20))
        self.deadline = time.monotonic() + SECONDS

    def left(self):
        return max(self.deadline - time.monotonic(), 1)

    def read(self, *flags, **variables):
        return self.launch(READING, "--data", self.folder / "data", "--until",
                           self.folder / "until", "--mended", self.folder / "mended", *flags,
                           workers=WORKERS, servers=1, **variables)

    def end(self, job):
        (self.folder / "until").touch()
        self.assertEqual(job.end(), 0, job.output())
        self.assertEqual(job.errors(), [], job.output())
        self.assert_nobody_left()

    def seen(self, job, metrics, *patterns):
        """The output of stretto-top and the metrics, polled until all patterns occur."""
        host, port = job.scheduler_address()
        text = ""
        while time.monotonic() < self.deadline:
            top = subprocess.run([cluster.BIN / "stretto-top", "--job", f"{host}:{port}"],
                                 env=self.environment(STRETTO_JOB_TOKEN=TOKEN), text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 timeout=cluster.PATIENCE)
            text = top.stdout + (metrics.read_text() if metrics.exists() else "")
            if all(re.search(pattern, text) for pattern in patterns):
                return
            threading.Event().wait(0.5)  # Its windows take a second.
        self.fail(f"not all of {patterns} in\n{text}\n{job.output()}")

    def test_the_worker_with_the_slow_storage_is_named(self):
        metrics = self.folder / "job.prom"
        job = self.read("--slow_rank", SLOW, STRETTO_METRICS_FILE=metrics,
                        STRETTO_JOB_TOKEN=TOKEN)
        found = job.expect(rf"input: worker {SLOW} gets (\d+) % of the data that it asks for, "
                           r"the middle one (\d+) %: slow device", self.left())
        self.assertLess(int(found.group(1)), int(found.group(2)), job.output())
        self.seen(job, metrics, r"input +stall +silent",
                  rf"worker {SLOW} .* [kM]B/s +\d+ % .*input: \d+ % of what it asks for, slow dev",
                  rf'stretto_input_share\{{rank="{SLOW}"\}} 0\.',
                  r"stretto_input_alarms_total [1-9]")
        (self.folder / "mended").touch()
        job.expect(rf"input: worker {SLOW} gets its share again", self.left())
        self.end(job)

    def share_device(self, **variables):
        """All read one device; one worker has an eighth of the others' reads in flight."""
        (self.folder / "device").write_bytes(bytes(8))
        return self.read("--device", self.folder / "device", "--rate", "40e6", "--depth", 32,
                         "--modest_rank", MODEST, "--modest_depth", 4,
                         STRETTO_JOB_TOKEN=TOKEN, **variables)

    def test_a_stolen_share_is_named_and_given_back(self):
        metrics = self.folder / "job.prom"
        job = self.share_device(STRETTO_METRICS_FILE=metrics)
        job.expect(rf"input: worker {MODEST} gets \d+ % .*: stolen share", self.left())
        job.expect(rf"input: worker {MODEST} gets its share again", self.left())
        self.seen(job, metrics, r"stretto_input_fairness (0\.9[5-9]|1)",
                  r'stretto_input_limit_bytes\{rank="0"\} [1-9]')
        self.end(job)

    def test_without_balancing_it_is_told_as_well(self):
        job = self.share_device(STRETTO_INPUT_BALANCE="off")
        job.expect(rf"input: worker {MODEST} gets \d+ % .*: stolen share", self.left())
        self.end(job)


if __name__ == "__main__":
    unittest.main(verbosity=2)
