# SPDX-License-Identifier: Apache-2.0
"""`stretto-experiment replay` as root: a tiny cell with real processes over shaped links. Its
figures are within their bounds, and nothing of the lab remains. Without permission for network
namespaces the experiment must report that; then only this is tested.
"""

import json
import pathlib
import signal
import sys
import tempfile
import unittest

import cluster
import lab

BENCH = cluster.BIN / "stretto-experiment"
KEYS = {"model", "scheme", "compute_s", "one_way_s", "serial_s", "bound_s", 
        "iteration_s_median", "iteration_s_iqr", "cpu_used", "overlap", "efficiency", "verdict",
        "rate_mbit", "lab_mbit", "scale", "workers", "servers", "iterations", "congestion"}
TINY = ("--model", "alexnet", "--scale", 512, "--rate_mbit", 10000, "--repeats", 1,
        "--iterations", 3, "--warm_up", 2)


class Replay(cluster.ClusterTest):
    """Each test runs the benchmark for a few seconds."""

    def assert_clean(self, bench):
        self.assertEqual(lab.namespaces_of(bench.pid), [], "namespaces stayed behind")
        self.assert_nobody_left()

    def rows(self, *flags):
        """The rows of one short run, by scheme."""
        bench = self.start("bench", [BENCH, "replay", "--json", *TINY, *flags],
                           STRETTO_LOG_LEVEL="error")  # A busy machine causes warnings.
        self.assertEqual(bench.end(240), 0, bench.output())
        self.assert_clean(bench)
        rows = [json.loads(line) for line in bench.lines]  # Nothing else is printed.
        for row in rows:
            self.assertLessEqual(KEYS, row.keys())
            ways = 2 if row["exchange"] == "servers" else 1
            self.assertAlmostEqual(row["serial_s"], row["compute_s"] + ways * row["one_way_s"], 4)
            self.assertAlmostEqual(row["bound_s"], max(row["compute_s"], row["one_way_s"]), 4)
            # Sleeps never end early; half is for sleeps that catch up with a late one.
            self.assertGreater(row["iteration_s_median"], 0.5 * row["compute_s"], row)
            self.assertEqual(row["verdict"] == "ok", row["efficiency"] is not None)
        return {row["scheme"]: row for row in rows}

    def test_every_scheme_runs_and_its_sums_are_right(self):
        rows = self.rows()
        self.assertLessEqual({"serial", "wfbp", "priority", "preempt", "eager"}, set(rows))
        for row in rows.values():
            self.assertEqual(row["iterations"], 3)

    def test_several_workers_and_servers_with_orders_of_all_sources(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "order"
            layers = ["conv1", "conv2", "conv3", "conv4", "conv5", "fc6", "fc7", "fc8"]
            path.write_text("".join(f"{layer}.{part}\t{rank}\n" for rank, layer in enumerate(layers)
                                    for part in ("weight", "bias")), encoding="utf-8")
            for order in ("first_use", "random", f"file:{path}"):
                rows = self.rows("--workers", 2, "--servers", 1, "--scheme", "preempt,p3,eager",
                                 "--order", order)
                self.assertEqual(set(rows), {"preempt", "p3", "eager"})
                for row in rows.values():
                    self.assertEqual((row["workers"], row["servers"]), (2, 1))
                    self.assertEqual(row["iterations"], 6)

    def test_some_layers_are_late(self):
        for late in (0, 2):
            rows = self.rows("--scheme", "delayed", "--late_layers", late)
            self.assertEqual(rows["delayed"]["late_layers"], late)

    def test_a_ladder_over_links_with_a_delay(self):
        delay = 0.02
        rows = self.rows("--scheme", "ladder", "--workers", 2, "--delay_s", delay)
        self.assertEqual(rows["ring"]["transfers"], 16)
        self.assertEqual(rows["auto-unfused"]["transfers"], 16)
        for name in ("ring-64mb", "ring-fused", "auto-fused", "auto-dag"):
            self.assertLess(rows[name]["transfers"], 16)
        for name in ("ring-fused", "auto-fused", "auto-dag"):
            # A round trip for one of the two, one way for the other.
            self.assertGreater(rows[name]["start_us"], 1.2e6 * delay)
        # Sixteen sequential exchanges, each of at least one way.
        self.assertGreater(rows["ring"]["iteration_s_median"], 16 * delay)

    def test_an_order_that_lacks_a_tensor_names_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "order"
            path.write_text("conv1.weight\t0\n", encoding="utf-8")
            bench = self.start("bench", [BENCH, "replay", *TINY, "--scheme", "preempt",
                                         "--order", f"file:{path}"])
            self.assertEqual(bench.end(240), 1, bench.output())
        self.assertIn("wanted a rank for tensor 'conv1.bias'", bench.output())
        self.assert_clean(bench)

    def test_a_signal_leaves_nothing_behind(self):
        bench = self.start("bench", [BENCH, "replay", *TINY, "--iterations", 10000])
        bench.expect("^replay: ")  # The lab exists.
        self.assertEqual(len(lab.namespaces_of(bench.pid)), 4)
        bench.send(signal.SIGTERM)
        self.assertEqual(bench.end(), 1, bench.output())
        self.one_error(bench, "Interrupted", "replay")
        self.assert_clean(bench)


class NoLab(cluster.ClusterTest):
    """Replaces the tests above if a lab cannot be made."""

    def test_the_refusal_says_what_to_do(self):
        bench = self.start("bench", [BENCH, "replay", "--json", *TINY])
        self.assertEqual(bench.end(), 1, bench.output())
        error = self.one_error(bench, "Unsupported", "")
        self.assertRegex(error.text, "sudo|install iproute2|privileged")


if __name__ == "__main__":
    sys.exit(lab.run_where_possible(Replay, NoLab))
