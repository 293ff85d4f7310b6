# SPDX-License-Identifier: Apache-2.0
"""`stretto-bench recover`: a short run prints every row, with the keys that scripts rely on; speed
is not checked.
"""

import json
import pathlib
import tempfile
import unittest

import cluster

BENCH = cluster.BIN / "stretto-bench"
KEYS = ["name", "seconds", "stall_ms", "throughput_ratio", "disk_ratio"]
ROWS = {  # With the keys of each.
    "checkpoint": {"seconds", "stall_ms", "throughput_ratio", "disk_ratio"},
    "restore": {"seconds", "disk_ratio"},
    "replicas": {"seconds", "throughput_ratio"},
    "encrypt": {"seconds", "throughput_ratio"},
    "crc": {"seconds", "throughput_ratio"},
    "returns": {"seconds", "stall_ms"},
    "stands_by": {"seconds", "stall_ms"},
    "begins_again": {"seconds", "stall_ms"},
}
SHORT = ("--seconds", 0.02, "--repeats", 1, "--bytes", "1M", "--step_bytes", "64K", "--interval",
         0.3, "--exchanged", "4K", "--kills", 1)


class Recover(cluster.ClusterTest):
    """Each test runs jobs for a few hundredths of a second."""

    def rows(self, *flags):
        with tempfile.TemporaryDirectory() as folder:
            bench = self.start("bench", [BENCH, "recover", "--json", "--folder", folder, *SHORT,
                                         *flags])
            self.assertEqual(bench.end(120), 0, bench.output())
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
        self.assert_nobody_left()
        return [json.loads(line) for line in bench.lines if line.startswith("{")]

    def test_every_row_has_its_figures(self):
        rows = self.rows()
        self.assertEqual([row["name"] for row in rows], list(ROWS))
        for row in rows:
            self.assertEqual(list(row)[:len(KEYS)], KEYS)
            there = {key for key in KEYS[1:] if row[key] is not None}
            self.assertLessEqual(there, ROWS[row["name"]], row)
            for key in ROWS[row["name"]] - {"seconds", "stall_ms", "disk_ratio"}:
                self.assertGreater(row[key], 0, row)

    def test_some_rows_with_several_servers(self):
        rows = self.rows("--rows", "checkpoint,stands_by", "--servers", 2, "--bytes", "2M",
                         "--kills", 2)
        self.assertEqual([(row["name"], row["runs"]) for row in rows],
                         [("checkpoint", 1), ("stands_by", 2)])
        self.assertGreater(rows[0]["bytes"], 4 << 20)  # Of both servers.

    def test_wrong_words(self):
        for words, cause in ((("--rows", "all"), "wanted checkpoint, restore,"),
                             (("--bytes", "1M"), "wanted at least twice --step_bytes, 2097152"),
                             (("--exchanged", "4,6"), "a tensor of 6 bytes: wanted a multiple")):
            bench = self.start("bench", [BENCH, "recover", *words])
            self.assertEqual(bench.end(60), 2, bench.output())
            self.assertIn(cause, bench.output())


if __name__ == "__main__":
    unittest.main(verbosity=2)
