# SPDX-License-Identifier: Apache-2.0
"""Links between two live members are cut silently, in network namespaces: all members end within
seconds and name both ends. `tools/chaos links` makes many such cuts.
"""

import sys
import time
import unittest

import cluster
import hosts
import lab
import links



class Links(cluster.ClusterTest):
    """Jobs over each transport, and one cut for all of them."""

    @classmethod
    def setUpClass(cls):
        hosts.program("iptables")
        cls.network = links.Network()
        cls.addClassCleanup(cls.network.close)

    def check(self, kind, direction, *transports):
        self.addCleanup(self.network.mend)
        jobs = {transport: links.Job(self, self.network, transport) for transport in transports}
        for job in jobs.values():
            job.await_training()
        since = time.monotonic()
        self.network.cut(kind, direction)
        for transport, job in jobs.items():
            with self.subTest(transport):
                outcome = job.outcome(since, cluster.PATIENCE)
                self.assertEqual(outcome.wrong, [], outcome.output)
        self.assertGreater(self.network.hits(), 0, "the cut had no effect")
        self.assert_nobody_left()

    def test_one_direction_is_enough(self):
        self.check("drop", "to worker", "tcp", "fabric")

    def test_a_path_that_loses_large_packets(self):
        self.check("large", "to worker", "tcp", "fabric")

    def test_a_reset_that_only_one_end_hears_of(self):
        self.check("reset", "to server", "tcp", "fabric")


class NoLab(unittest.TestCase):
    """Without namespaces the lab reports that."""

    def test_there_is_no_network(self):
        with self.assertRaises((AssertionError, FileNotFoundError)):
            links.Network()


if __name__ == "__main__":
    sys.exit(lab.run_where_possible(Links, NoLab))
