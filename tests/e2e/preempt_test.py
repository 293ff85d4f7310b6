# SPDX-License-Identifier: Apache-2.0
"""`stretto-bench preempt` as root: its figures are plausible, compared with others of the same run,
and its lab is always removed. If this user cannot make network namespaces the benchmark must report
that with a remedy; that is the only test then, and it says so.
"""

import json
import os
import signal
import sys

import cluster
import lab

BENCH = cluster.BIN / "stretto-bench"
# Required keys of the rows of any mode.
KEYS = {"mode", "background", "rate_mbit", "urgent_first_ms", "urgent_p50_ms", "urgent_p95_ms",
        "urgent_max_ms", "background_cpu_s_per_gb", "unloaded_cpu_s_per_gb",
        "unloaded_p50_ms", "background_gb_per_s", "unloaded_gb_per_s", "rate_used", "transport",
        "peers", "processes", "host_window", "bottleneck", "raw_tcp_gb_per_s", "goodput_ratio",
        "direction", "urgent_peer"}


class Preempt(cluster.ClusterTest):
    """Each test runs the benchmark for a few seconds."""

    def preempt(self, *flags, **variables):
        return self.start("bench", [BENCH, "preempt", *flags], **variables)

    def assert_clean(self, bench):
        self.assertEqual(lab.namespaces_of(bench.pid), [], "namespaces stayed behind")
        self.assert_nobody_left()

    def rows(self, *flags):
        """The rows of one short run by mode, with the background's kind for bulk."""
        bench = self.preempt("--json", "--seconds", 1, "--repeats", 1, *flags)
        self.assertEqual(bench.end(240), 0, bench.output())
        self.assert_clean(bench)
        rows = [json.loads(line) for line in bench.lines]  # All output lines are rows.
        for row in rows:
            self.assertLessEqual(KEYS, row.keys())
            ordered = [row[f"urgent_{name}_ms"] for name in ("p50", "p95", "max")]
            self.assertEqual(ordered, sorted(ordered), row)
            self.assertGreater(ordered[0], 0, row)
            self.assertGreater(row["background_gb_per_s"], 0, row)
            # The limit of the shaper.
            self.assertLess(row["rate_used"], 1.02, row)
        return {self.name_of(row): row for row in rows}

    @staticmethod
    def name_of(row):
        apart = row["host_window"] if row["processes"] > 1 else ""
        bulk = "bulk" if row["background"] == "bulk" else ""
        return " ".join(filter(None, (row["mode"], bulk, apart)))

    def test_preemption_beats_waiting_in_line(self):
        rows = self.rows("--mode", "fifo,preempt", "--rate_mbit", 1000, "--background_bytes", "16M")
        self.assertEqual(set(rows), {"fifo", "preempt", "preempt bulk"})
        fifo, preempt, bulk = rows["fifo"], rows["preempt"], rows["preempt bulk"]
        self.assertGreater(fifo["urgent_p50_ms"], 3 * preempt["urgent_p50_ms"])
        # Before the first come some milliseconds of bulk, which yields to the others; their number
        # depends on other users of the processors.
        self.assertGreater(fifo["urgent_p50_ms"], 10 * bulk["urgent_p50_ms"])
        # In line: all of the background goes first, 134 ms of it at this rate.
        self.assertGreater(fifo["urgent_p50_ms"], 0.8 * 16 * 1.024 ** 2 * 8)
        self.assertLess(fifo["unloaded_p50_ms"], fifo["urgent_p50_ms"])

    def test_another_process_yields_too(self):
        rows = self.rows("--processes", 2, "--background", "bulk", "--host_window", "none,urgent")
        self.assertEqual(set(rows), {"preempt bulk none", "preempt bulk urgent"})
        # Without a window for the host the receiver throttles the other process.
        for row in rows.values():
            self.assertGreater(row["urgent_first_ms"], 2 * row["urgent_p50_ms"], row)
            self.assertGreater(row["rate_used"], 0.7, row)

    def test_many_send_to_one_receiver(self):
        for peer in ("busy", "idle"):
            [row] = self.rows("--background", "plain", "--peers", 4, "--direction", "in",
                              "--urgent_peer", peer, "--rate_mbit", 400,
                              "--background_bytes", "4M").values()
            self.assertEqual((row["direction"], row["urgent_peer"]), ("in", peer))
            # In line with 16 MB of all it would wait for a third of a second.
            self.assertLess(row["urgent_p50_ms"], 50)
            self.assertGreater(row["rate_used"], 0.7, row)

    def test_background_goes_both_ways(self):
        [row] = self.rows("--background", "plain", "--direction", "both", "--rate_mbit", 400,
                          "--background_bytes", "4M").values()
        self.assertLess(row["urgent_p50_ms"], 50)
        self.assertGreater(row["rate_used"], 0.5, row)

    def test_peers_behind_a_router(self):
        rows = self.rows("--background", "plain", "--peers", 2, "--bottleneck", "router",
                         "--rate_mbit", 400, "--background_bytes", "4M")
        self.assertEqual(set(rows), {"preempt"})
        for row in rows.values():
            self.assertEqual((row["peers"], row["bottleneck"]), (2, "router"))
            self.assertEqual(row["rate_mbit"], 400)

    def test_signals_leave_nothing_behind(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                bench = self.preempt("--seconds", 600)
                bench.expect("^preempt: ")  # The lab is set up.
                self.assertEqual(len(lab.namespaces_of(bench.pid)), 2)
                bench.send(number)
                self.assertEqual(bench.end(), 1, bench.output())
                self.one_error(bench, "Interrupted", "preempt")
                self.assert_clean(bench)

    def test_what_a_killed_one_left_is_removed_by_the_next(self):
        killed = self.preempt("--seconds", 600)
        killed.expect("^preempt: ")
        killed.send(signal.SIGKILL)
        self.assertEqual(killed.end(), 128 + signal.SIGKILL)
        self.assertEqual(len(lab.namespaces_of(killed.pid)), 2)
        bench = self.preempt("--seconds", 600)
        bench.expect("^preempt: ")
        self.assertEqual(lab.namespaces_of(killed.pid), [])
        bench.send(signal.SIGTERM)
        self.assertEqual(bench.end(), 1, bench.output())
        self.assert_clean(bench)

    def test_a_missing_program_is_named(self):
        bench = self.preempt(PATH="/nonexistent")
        self.assertEqual(bench.end(), 1, bench.output())
        self.one_error(bench, "Unsupported", "wanted the program ip", "install iproute2")
        self.assert_clean(bench)


class NoLab(cluster.ClusterTest):
    """Replaces the tests above if a lab cannot be made."""

    def test_the_refusal_says_what_to_do(self):
        bench = self.start("bench", [BENCH, "preempt", "--json", "--seconds", 1])
        self.assertEqual(bench.end(), 1, bench.output())
        error = self.one_error(bench, "Unsupported", "wanted" if os.geteuid() else "")
        self.assertRegex(error.text, "sudo|install iproute2|privileged")
        self.assertEqual(lab.namespaces_of(bench.pid), [])


if __name__ == "__main__":
    sys.exit(lab.run_where_possible(Preempt, NoLab))
