# SPDX-License-Identifier: Apache-2.0
"""The digits example learns in every mode, by real processes: one flag is all that changes."""

import pathlib
import re
import subprocess
import tempfile
import unittest

import cluster

SECONDS = 240
LEAST_ACCURACY = 0.93  # After 15 epochs; it reaches 0.97 to 0.99.


class Modes(cluster.ClusterTest):

    def train(self, *flags, launcher=()):
        command = [str(cluster.BIN / "stretto-launch"), "--workers", "2", "--servers", "2",
                   *launcher, "--", str(cluster.BIN / "digits"), "--epochs", "15", *flags]
        done = subprocess.run(command, text=True, env=self.environment(), timeout=SECONDS,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        found = re.search(r"test_accuracy=([0-9.]+)", done.stdout)
        self.assertIsNotNone(found, done.stdout)
        self.assertGreaterEqual(float(found.group(1)), LEAST_ACCURACY, done.stdout)

    def test_each_mode_learns(self):
        for mode in ("sync", "bounded", "async", "eager", "eager_async"):
            with self.subTest(mode):
                self.train("--mode", mode)

    def test_each_rate_rule_learns(self):
        for rule in ("constant", "inverse_root", "compensated"):
            with self.subTest(rule):
                self.train("--mode", "eager_async", "--rate_rule", rule, "--warm_up", "10")

    def test_the_scheduler_shows_how_far_each_worker_is(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "job.prom"
            self.train("--mode", "eager_async", launcher=["--env", f"STRETTO_METRICS_FILE={path}"])
            self.assertIn("# TYPE stretto_worker_rounds_total counter", path.read_text())

    def test_a_mode_that_is_none_is_refused(self):
        done = subprocess.run([str(cluster.BIN / "digits"), "--mode", "lazy"], text=True,
                              env=self.environment(), timeout=SECONDS, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("mode 'lazy' is not known; there are sync, bounded, async", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
