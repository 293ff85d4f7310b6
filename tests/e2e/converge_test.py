# SPDX-License-Identifier: Apache-2.0
"""The statistical experiments: one small run of each mode through real processes trains, writes all
columns, and is not repeated; and conclusions from runs are right.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import cluster

SCRIPTS = cluster.SOURCE / "experiments" / "converge"
sys.path.insert(0, str(SCRIPTS))

import converge  # pylint: disable=wrong-import-position

SECONDS = 300


def script(name, *words):
    """Runs a script of the experiments; returns its output."""
    command = [sys.executable, str(SCRIPTS / name), *(str(word) for word in words)]
    done = subprocess.run(command, text=True, timeout=SECONDS, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


class ShortForm(cluster.ClusterTest):

    def test_trains_in_every_mode_and_remembers(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("converge.py", "--short", "--out", folder, "--programs", cluster.BIN)
            status, text = script(*words)
            self.assertEqual(status, 0, text)
            runs = converge.read_runs(pathlib.Path(folder) / "runs.csv")
            self.assertEqual([cell.mode for cell, _ in runs],
                             ["sync", "eager", "bounded", "async", "eager_async"])
            for cell, row in runs:
                self.assertEqual(row["status"], "ok")
                self.assertNotIn(None, row.values(), f"every column is filled in: {row}")
                self.assertGreater(row["final_accuracy"], 0.6, cell)
                self.assertGreater(row["gradients_to_target"], 0)
            curves = (pathlib.Path(folder) / "curves.jsonl").read_text(encoding="utf-8")
            for text in curves.splitlines():
                points = json.loads(text)["curve"]
                self.assertEqual(points[0][0], 0, "the first point is before the first step")
                self.assertLess(points[0][2], 0.6)
                self.assertEqual([p[1] for p in points], sorted(p[1] for p in points))
            status, text = script(*words)
            self.assertEqual(status, 0, text)
            self.assertEqual(converge.read_runs(pathlib.Path(folder) / "runs.csv"), runs)
        self.assert_nobody_left()

    def test_one_worker_trains_alike_in_every_mode_to_the_bit(self):
        found = set()
        for mode in ("sync", "bounded", "async", "eager", "eager_async"):
            command = [cluster.LAUNCH, "--servers", "2", "--", cluster.BIN / "stretto-converge",
                       "--mode", mode, "--gradients", "60", "--step_ms", "0"]
            done = subprocess.run(command, text=True, check=False, timeout=SECONDS,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
            found.add(re.search(r'"checksum":"(\w+)"', done.stdout)[1])
        self.assertEqual(len(found), 1, found)

    def test_says_what_is_wrong(self):
        for words, wanted in ((("--mode", "fast"), "there are sync, bounded"),
                              (("--rule", "none"), "rate rule 'none' is not known"),
                              (("--rate", "-1"), "--rate: wanted a number"),
                              (("--task", "resnet"), "wanted a task of softmax"),
                              (("resnet",), "is not understood")):
            done = subprocess.run([cluster.BIN / "stretto-converge", *words], text=True,
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(wanted, done.stdout)
        with tempfile.TemporaryDirectory() as folder:
            status, text = script("converge.py", "--out", folder, "--tasks", "resnet",
                                  "--programs", cluster.BIN)
            self.assertEqual(status, 2)
            self.assertIn("found resnet", text)


class Grid(unittest.TestCase):

    def test_seeds_come_one_after_another_and_rules_where_gradients_are_stale(self):
        found = converge.arguments(["--out", "runs", "--programs", str(cluster.BIN),
                                    "--tasks", "mlp", "--modes", "sync,eager,async",
                                    "--rules", "constant,relative",
                                    "--slow", "1,6", "--seeds", "2", "--rates", "0.1,0.4"])
        cells = list(converge.cells_of(found))
        self.assertEqual(len(cells), len(set(cells)))
        # Each seed and straggler has sync, eager with and without warm-up, async with two rules.
        self.assertEqual(len(cells), 2 * 2 * (1 + 2 + 2) * 2)
        self.assertEqual([cell.seed for cell in cells], sorted(cell.seed for cell in cells))
        self.assertEqual({cell.rule for cell in cells if cell.mode == "sync"}, {"constant"})
        self.assertEqual({cell.warm_up for cell in cells if cell.mode == "eager"}, {0, 20})

    def test_runs_of_a_busy_machine_do_not_count(self):
        cell = converge.Cell("mlp", "sync", step_ms=10)
        found = {"job_cpu": 0.1, "machine_cpu": 0.6, "late_ms": 0.5}
        self.assertEqual(converge.judge(cell, found, 0.7, 0.1), "ok")
        self.assertEqual(converge.judge(cell, {**found, "machine_cpu": 0.9}, 0.7, 0.1), "busy",
                         "others keep the machine busy, too")
        self.assertEqual(converge.judge(cell, {**found, "late_ms": 1.1}, 0.7, 0.1), "late")


if __name__ == "__main__":
    unittest.main(verbosity=2)
