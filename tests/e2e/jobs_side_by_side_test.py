# SPDX-License-Identifier: Apache-2.0
"""Jobs of all sizes on one host: several at once without interference, the smallest, with shards,
and a worker without a launcher.
"""

import unittest

import cluster

SHORT = ("--rounds", 200, "--progress", 100)


class SideBySide(cluster.ClusterTest):

    def test_three_at_once(self):
        jobs = [self.train("--rounds", 300, "--progress", 100, "--elements", 500 + i)
                for i in range(3)]
        addresses = {job.scheduler_address() for job in jobs}
        self.assertEqual(len(addresses), 3)
        for job in jobs:
            self.assertEqual(job.end(), 0, job.output())
            job.expect(r"\[worker 0\] verified values=\d+ wrong=0 ")
            job.expect(r"\[worker 1\] verified values=\d+ wrong=0 ")
        self.assert_nobody_left()

    def test_a_failing_job_disturbs_no_other(self):
        good = self.train("--rounds", 300, "--progress", 100)
        bad = self.train("--rounds", 10**9, "--fault", "exit", "--fault_round", 20)
        self.assertNotEqual(bad.end(), 0)
        self.assertEqual(good.end(), 0, good.output())
        self.assertEqual(good.errors(), [])
        self.assert_nobody_left()

    def test_a_worker_of_another_job_is_refused(self):
        """Jobs under launchers have their own tokens: a wrong port does no harm."""
        job = self.train("--rounds", 10**9, "--progress", 10)
        job.expect("progress", count=2)
        host, port = job.scheduler_address()
        stray = self.start("stray", [cluster.TRAINING], STRETTO_SCHEDULER=f"{host}:{port}",
                           STRETTO_WORLD_SIZE=2, STRETTO_SERVERS=2)
        self.assertEqual(stray.end(10), 1, stray.output())
        self.one_error(stray, "Refused", "job token")
        reached = sum("progress" in line for line in job.lines)
        job.expect("progress", count=reached + 4)
        self.assertEqual(job.errors(), [])


class Sizes(cluster.ClusterTest):

    def test_one_and_one(self):
        self.assert_success(self.train(*SHORT, workers=1, servers=1), workers=1)

    def test_no_words_at_all(self):
        """The defaults are one worker and one server."""
        process = self.start("job", [cluster.LAUNCH, cluster.TRAINING, *SHORT])
        self.assertEqual(process.end(), 0, process.output())
        process.expect("joined as 0 of 1")
        self.assert_nobody_left()

    def test_shards(self):
        job = self.train(*SHORT, launcher=("--shards", 3), workers=2, servers=2)
        job.expect("2 servers of 3 shards")
        self.assert_success(job)

    def test_more_servers_than_workers(self):
        self.assert_success(self.train(*SHORT, workers=1, servers=4), workers=1)

    def test_more_workers_than_servers(self):
        self.assert_success(self.train(*SHORT, workers=5, servers=1), workers=5)

    def test_no_rounds(self):
        """Workers that only join and leave have had a job, too."""
        self.assert_success(self.train("--rounds", 0))

    def test_a_worker_that_nobody_launched(self):
        worker = self.start("worker", [cluster.TRAINING])
        self.assertEqual(worker.end(10), 1, worker.output())
        self.one_error(worker, "InvalidArgument", "no scheduler is named", "stretto-launch")


if __name__ == "__main__":
    unittest.main(verbosity=2)
