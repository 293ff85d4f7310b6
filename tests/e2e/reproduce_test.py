# SPDX-License-Identifier: Apache-2.0
"""experiments/reproduce: each headline's short form leaves a table and a plot. Without permission
for namespaces, a headline whose links need root must only give a clear error.
"""

import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

import cluster
import lab

REPRODUCE = cluster.SOURCE / "experiments" / "reproduce"
SECONDS = 300
LABELS = {
    "tictac": ["random", "registration", "tic", "tac"],
    "bytescheduler": ["wfbp", "slice", "priority", "p3", "preempt"],
    "caramel": ["ring", "ring-64mb", "ring-fused", "auto-fused", "auto-dag", "auto-windows",
                "auto-delayed", "auto-unfused"],
    "diot": ["sata", "nvme", "network", "one_channel", "noisy", "saturating", "cloud",
             "shared"],
    "ps-plus": ["sync constant", "eager constant", "bounded relative", "async relative",
                "eager_async relative"],
}
AS_ROOT = ("tictac", "bytescheduler", "caramel")


class ShortForms(cluster.ClusterTest):
    """The short form of each headline."""

    def check(self, headline):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, REPRODUCE, headline, "--out", folder, "--short"],
                                  check=False, text=True, timeout=SECONDS, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            lacking = lab.why_no_lab() if headline in AS_ROOT else ""
            if lacking:
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("ERROR", done.stdout)
                return
            self.assertEqual(done.returncode, 0, done.stdout)
            table = pathlib.Path(folder, f"{headline}.csv").read_text(encoding="utf-8")
            rows = list(csv.DictReader(table.splitlines()))
            self.assertEqual([row["label"] for row in rows], LABELS[headline])
            for row in rows:
                self.assertGreater(float(list(row.values())[1]), 0, row)
            plot = pathlib.Path(folder, f"{headline}.svg").read_text(encoding="utf-8")
            for label in LABELS[headline]:
                self.assertIn(label.split()[0].split("_")[0], plot)
        self.assert_nobody_left()

    def test_tictac(self):
        self.check("tictac")

    def test_bytescheduler(self):
        self.check("bytescheduler")

    def test_caramel(self):
        self.check("caramel")

    def test_diot(self):
        self.check("diot")

    def test_ps_plus(self):
        self.check("ps-plus")


if __name__ == "__main__":
    unittest.main()
