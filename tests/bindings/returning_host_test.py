# SPDX-License-Identifier: Apache-2.0
"""A host's link is down for longer than STRETTO_DEAD_AFTER_S: the others continue, and the worker
on that host, whose process is running, rejoins when the link is up. With real sshd servers."""

import os
import re
import sys
import tempfile
import unittest

import jobs

import hosts  # pylint: disable=wrong-import-order

DEAD_AFTER_S = 2
AWAY_S = 2.0  # In addition to the timeout.
PROGRAM = jobs.HERE / "returning_worker.py"


class ReturningHost(hosts.FarTest):

    @classmethod
    def setUpClass(cls):
        cls.lab = hosts.Lab(("one",))
        cls.addClassCleanup(cls.lab.close)

    def test_its_worker_comes_again(self):
        with tempfile.TemporaryDirectory() as folder:
            until = os.path.join(folder, "stop")
            variables = {"OMP_NUM_THREADS": 1,
                         "STRETTO_DEAD_AFTER_S": DEAD_AFTER_S}
            told = [word for name, value in variables.items()
                    for word in ("--env", f"{name}={value}")]
            job = self.start_job([*self.lab.home(), jobs.cluster.LAUNCH, "--starter", self.lab.ssh,
                                  "-H", "localhost:2,one:1", "-n", "1:3", "-s", 1, *told, "--",
                                  sys.executable, PROGRAM, "loop", until])
            for number in range(3):
                job.expect(rf"\[worker {number}\] step 40 rank {number} of 3$", jobs.TORCH_PATIENCE)
            on_it = [pid for name, pid in self.members().items() if name == "worker 2"]
            with self.lab.without_power("one", on_it):
                job.expect(r"\[worker 0\] step \d+ rank 0 of 2$")
                job.expect("the job goes on without")
                watch = jobs.cluster.Watch(self.members())
                self.addCleanup(watch.close)
                self.assertEqual(watch.ends(AWAY_S), {}, job.output())
            job.expect(r"\[worker 2\] stretto: this worker is in the job again")
            for number in (0, 2):
                had = len(re.findall(rf"\[worker {number}\] .* of 3$", job.output(), re.MULTILINE))
                job.expect(rf"\[worker {number}\] step \d+ rank {number} of 3$", count=had + 1)
            with open(until, "w", encoding="ascii"):
                pass
            self.assertEqual(job.end(), 0, job.output())
            ends = re.findall(r"done at (\S+)", job.output())
            self.assertEqual((len(ends), len(set(ends))), (3, 1), job.output())
            self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
