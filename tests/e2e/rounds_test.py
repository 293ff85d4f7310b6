# SPDX-License-Identifier: Apache-2.0
"""Many rounds of several tensors at once, one worker slowed at random by real work, every value of
every round compared with its expected value. STRETTO_ROUNDS sets their number; default 2,000.
"""

import os
import re
import unittest

import cluster

ROUNDS = int(os.environ.get("STRETTO_ROUNDS", "2000"))
TENSORS = 8
SECONDS = 120 + ROUNDS / 10


class Rounds(cluster.ClusterTest):

    def check(self, *flags, rounds=ROUNDS, elements=1000, workers=2, **options):
        """All expected values have arrived, and none is wrong."""
        job = self.train("--rounds", rounds, "--elements", elements, "--tensors", TENSORS,
                         "--progress", max(1, rounds // 4), "--slow_rank", workers - 1, *flags,
                         workers=workers, **options)
        self.assert_success(job, workers, SECONDS)
        for line in job.lines:
            match = re.search(r"verified values=(\d+) wrong=0 .*seconds=(\S+)", line)
            if match:
                self.assertGreaterEqual(int(match.group(1)), rounds * elements * TENSORS)
                print(f"MEASURED {' '.join(map(str, flags)) or 'sync'}: {rounds} rounds, "
                      f"{match.group(1)} values in {match.group(2)} s")

    def test_sync(self):
        self.check()

    def test_bounded(self):
        self.check("--mode", "bounded", rounds=ROUNDS // 2)

    def test_async(self):
        self.check("--mode", "async", rounds=ROUNDS // 2)

    def test_tensors_of_many_parts(self):
        """Parts of 4 KiB and an odd remainder, over two servers of two shards each."""
        self.check("--seed", 7, rounds=max(1, ROUNDS // 20), elements=10_007,
                   launcher=("--shards", 2), STRETTO_PART_BYTES=4096)

    def test_tight_windows(self):
        """Windows smaller than a part: everything waits for credit, and everything arrives."""
        self.check("--seed", 8, rounds=max(1, ROUNDS // 20), elements=10_007,
                   STRETTO_PART_BYTES=4096, STRETTO_LINK_WINDOW_BYTES=1000,
                   STRETTO_TOTAL_WINDOW_BYTES=5000)

    def test_every_other_transport(self):
        for transport in ("tcp", "zmq", "fabric"):
            with self.subTest(transport):
                self.check("--seed", 10, rounds=max(1, ROUNDS // 20), elements=100_007,
                           STRETTO_TRANSPORT=transport)

    def test_three_workers(self):
        self.check("--seed", 9, rounds=max(1, ROUNDS // 10), workers=3, servers=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
