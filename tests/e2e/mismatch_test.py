# SPDX-License-Identifier: Apache-2.0
"""Workers that disagree on a tensor: both get an error at once with both descriptions, while
servers and scheduler report no error.
"""

import time
import unittest

import cluster

FIRST = "f32[1000] sync sum"
# What worker 1 declares instead, by the training program's --fault.
OTHERS = {
    "elements": "f32[1001] sync sum",
    "dtype": "i32[1000] sync sum",
    "rule": "f32[1000] sync sgd",
    "mode": "f32[1000] async sum",
}
MOST_SECONDS = 4.0  # Below all timeouts; the measured time is printed.


class Mismatch(cluster.ClusterTest):

    def test_both_workers_are_told_of_both(self):
        for fault, other in OTHERS.items():
            with self.subTest(fault):
                job = cluster.ByHand(self)
                for rank in (0, 1):
                    job.server(rank)
                workers = [job.worker(rank, ("--rounds", 10**9, "--fault", fault))
                           for rank in (0, 1)]
                job.scheduler.expect("all are here")
                since = time.monotonic()
                for worker in workers:
                    self.assertEqual(worker.end(), 1, worker.output())
                    error = self.one_error(worker, "Mismatch", "'tensor 0'")
                    for words in (FIRST, other, "worker 0 declared", "worker 1 declared"):
                        self.assertIn(words, error.cause)
                last = max(worker.ended_at for worker in workers) - since
                self.assertLess(last, MOST_SECONDS)
                print(f"MEASURED {fault}: both workers had ended after {last * 1000:.0f} ms")
                for name in ("server 0", "server 1", "scheduler"):
                    self.assertEqual(job.everybody[name].end(), cluster.exit_of_loss(name),
                                     job.everybody[name].output())
                self.assert_nobody_left()

    def test_the_launcher_names_a_worker(self):
        job = self.train("--rounds", 10**9, "--fault", "dtype")
        self.assertEqual(job.end(), 1, job.output())
        error = self.one_error(job, "ProgramFailed", "Mismatch: ")
        self.assertEqual(error.role, "worker", job.output())
        for worker in ("worker 0", "worker 1"):
            self.assertEqual([e.code for e in job.errors_of(worker)], ["Mismatch"], job.output())
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
