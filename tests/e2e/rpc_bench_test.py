# SPDX-License-Identifier: Apache-2.0
"""`stretto-bench rpc`: a short run has a row for each way of calling, and ratios to its reference.
Missing programs and invalid arguments are reported.
"""

import json
import pathlib
import shutil
import tempfile
import unittest

import cluster

BENCH = cluster.BIN / "stretto-bench"
GRPC = cluster.BIN / "grpc-unary"
KEYS = {"transport", "bytes", "inflight", "p50_us", "p50_us_min", "p50_us_max", "p95_us",
        "calls_per_s", "gb_per_s", "cpu_us_per_call", "raw", "ratio_to_raw", "ratio_to_grpc"}


class Rpc(cluster.ClusterTest):
    """Each test makes calls for a few hundredths of a second in each way."""

    def rows(self, *flags, program=BENCH, **variables):
        bench = self.start("bench", [program, "rpc", "--json", "--seconds", 0.02, "--repeats", 1,
                                     *flags], **variables)
        self.assertEqual(bench.end(60), 0, bench.output())
        self.assert_nobody_left()
        rows = [json.loads(line) for line in bench.lines if not line.startswith("rpc: ")]
        for row in rows:
            self.assertLessEqual(KEYS, row.keys())
            for name in KEYS - {"transport", "raw", "ratio_to_raw", "ratio_to_grpc"}:
                self.assertGreater(row[name], 0, row)
            self.assertGreaterEqual(row["p95_us"], row["p50_us"])
        return {(row["transport"], row["bytes"], row["inflight"]): row for row in rows}, bench

    def test_each_way_has_a_row(self):
        rows, bench = self.rows("--transport", "shm,tcp", "--bytes", "64,256K", "--inflight", "1,8")
        ways = {"shm", "tcp", "futex", "raw_zmq", "raw_tcp", "grpc"}
        if not GRPC.exists():
            ways.remove("grpc")
            self.assertIn("gRPC is left out", bench.output())
        shapes = {(size, calls) for size in (64, 256 << 10) for calls in (1, 8)}
        wanted = {(way, *shape) for way in ways for shape in shapes}
        wanted.remove(("raw_tcp", 256 << 10, 8))  # More than the kernel's buffers hold.
        self.assertEqual(set(rows), wanted)
        for (way, size, calls), row in rows.items():
            raw = {"shm": "futex", "tcp": "raw_zmq"}.get(way, "")
            self.assertEqual(row["raw"], raw)
            if raw and calls == 1:
                other = rows[raw, size, calls]
                ratio = row["p50_us"] / other["p50_us"]  # Figures are rounded.
                self.assertAlmostEqual(row["ratio_to_raw"], ratio, delta=0.001 + ratio / 1000)
            self.assertEqual(row["ratio_to_raw"] is None, not raw)
            self.assertEqual(row["ratio_to_grpc"] is None, "grpc" not in ways)

    def test_grpc_is_optional(self):
        """An installation has no program of gRPC."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "stretto-bench"
            shutil.copy(BENCH, program)
            rows, bench = self.rows("--transport", "shm", "--bytes", 64, "--inflight", 1,
                                    program=program, STRETTO_BIN_DIR=folder)
        self.assertEqual({way for way, _, _ in rows}, {"shm", "futex", "raw_zmq", "raw_tcp"})
        self.assertIsNone(rows["shm", 64, 1]["ratio_to_grpc"])
        self.assertIn("gRPC is left out", bench.output())

    def test_wrong_words(self):
        for words, cause in ((("--bytes", "0"), "--bytes is '0'"),
                             (("--transport", "pigeon"), "wanted shm, tcp, zmq or fabric"),
                             (("--bytes", "64M", "--inflight", "64"), "--inflight sets that")):
            bench = self.start("bench", [BENCH, "rpc", *words])
            self.assertEqual(bench.end(60), 2, bench.output())
            self.assertIn(cause, bench.output())


if __name__ == "__main__":
    unittest.main(verbosity=2)
