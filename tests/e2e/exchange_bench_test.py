# SPDX-License-Identifier: Apache-2.0
"""`stretto-bench push_pull` with each exchange backend, with checked sums; and, if a lab can be
made, over links of a given rate.
"""

import json
import sys

import cluster
import lab

BENCH = cluster.BIN / "stretto-bench"
WAYS = ("servers", "direct", "ring", "halving", "tree")
SHORT = ("--bytes", "4,300K", "--seconds", 0.02, "--servers", 1)


class Exchange(cluster.ClusterTest):
    """Each test exchanges tensors for a few hundredths of a second."""

    def rows(self, *flags):
        bench = self.start("bench", [BENCH, "push_pull", "--json", *SHORT, *flags],
                           STRETTO_LOG_LEVEL="error")  # A busy machine causes warnings.
        self.assertEqual(bench.end(120), 0, bench.output())
        self.assert_nobody_left()
        rows = [json.loads(line) for line in bench.lines]
        self.assertEqual([row["bytes"] for row in rows], [4, 300 << 10])
        for row in rows:
            self.assertGreater(row["gb_per_s"], 0)
            self.assertLessEqual(row["p50_us_least"], row["p50_us"])
            self.assertLessEqual(row["p50_us"], row["p50_us_most"])
        return rows, bench

    def test_each_way_has_its_row(self):
        for way in WAYS:
            for row in self.rows("--exchange", way, "--workers", 3)[0]:
                self.assertEqual(row["exchange"], way)
                self.assertEqual(row["limit"] == "none", way != "servers")
                self.assertEqual(row["ratio"] is None, way != "servers")

    def test_what_cannot_be_used_is_named(self):
        bench = self.start("bench", [BENCH, "push_pull", "--exchange", "star"])
        self.assertEqual(bench.end(), 2, bench.output())
        self.one_error(bench, "InvalidArgument", "there are servers, direct")


class ExchangeInLab(Exchange):
    """The same over links, if a lab can be made."""

    def test_links_bound_it(self):
        for way in ("servers", "ring"):
            rows, bench = self.rows("--exchange", way, "--workers", 3, "--lab_mbit", 200)
            self.assertEqual(lab.namespaces_of(bench.pid), [], "namespaces stayed behind")
            for row in rows:
                self.assertEqual((row["limit"], row["lab_mbit"]), ("links", 200))
                self.assertLess(row["gb_per_s_limit"], 0.025)
                self.assertAlmostEqual(row["ratio"], row["gb_per_s"] / row["gb_per_s_limit"], 3)

    def test_workers_share_the_links_of_unlike_hosts(self):
        rows, bench = self.rows("--exchange", "auto", "--workers", 4, "--lab_mbit", "200,50",
                                "--lab_hosts", 2)
        self.assertEqual(lab.namespaces_of(bench.pid), [], "namespaces stayed behind")
        for row in rows:
            self.assertEqual((row["lab_hosts"], row["lab_mbit"], row["lab_mbit_least"]),
                             (2, 200, 50))
            self.assertLess(row["gb_per_s_limit"], 0.0075)


if __name__ == "__main__":
    sys.exit(lab.run_where_possible(ExchangeInLab, Exchange))
