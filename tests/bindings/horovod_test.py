# SPDX-License-Identifier: Apache-2.0
"""stretto.horovod.torch: among several workers (horovod_worker.py; horovod_joining_worker.py with
data of different lengths), and alone."""

import unittest

import jobs

jobs.use_packages()

from stretto.horovod.torch import handles  # pylint: disable=wrong-import-position

ALONE = """
import torch
import stretto.horovod.torch as hvd
hvd.init()
assert (hvd.rank(), hvd.size()) == (0, 1)
assert hvd.allreduce(torch.tensor([4.0]), prescale_factor=0.5, op=hvd.Product).item() == 2
assert hvd.allgather(torch.ones(2)).tolist() == [1, 1]
assert hvd.broadcast(torch.ones(2), 0).tolist() == [1, 1]
assert hvd.allgather_object("x") == ["x"]
assert hvd.join() == 0
assert hvd.SyncBatchNorm(2)(torch.rand(3, 2)).shape == (3, 2)
assert hvd.alltoall(torch.ones(2), [2])[1].tolist() == [2]
assert hvd.reducescatter(torch.ones(3)).tolist() == [1, 1, 1]
assert hvd.global_process_set.size() == 1
hvd.barrier()
hvd.shutdown()
print("done")
"""

ELASTIC = """
import torch
import stretto.horovod.torch as hvd
from stretto import errors
hvd.init()
for call in (lambda: hvd.add_process_set([0]), lambda: hvd.alltoall(torch.ones(2)),
             lambda: hvd.reducescatter(torch.ones(2))):
    try:
        call()
        raise AssertionError("it was not refused")
    except errors.Unsupported as error:
        assert "jobs of fixed size" in str(error), error
assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == 2
print("done")
"""

# Operation queues are busy when the program ends.
UNSYNCHRONIZED = """
import sys
import torch
import stretto.horovod.torch as hvd
hvd.init()
for number in range(50):
    hvd.allreduce_async(torch.ones(1000), name=f"t{number}" if number % 2 else None)
if sys.argv[1] == "error":
    raise KeyError
sys.exit(int(sys.argv[1]))
"""


class Horovod(jobs.PythonTest):

    def test_two_workers(self):
        self.assert_done(self.python("horovod_worker.py"))

    def test_three_workers(self):
        self.assert_done(self.python("horovod_worker.py", workers=3, servers=1), workers=3)

    def test_rows_and_process_sets_of_two_workers(self):
        self.assert_done(self.python("horovod_sets_worker.py"))

    def test_rows_and_process_sets_of_three_workers(self):
        self.assert_done(self.python("horovod_sets_worker.py", workers=3, servers=1), workers=3)

    def test_rows_and_process_sets_of_four_workers_without_servers(self):
        self.assert_done(self.python("horovod_sets_worker.py", workers=4, servers=0), workers=4)

    def test_three_workers_with_data_of_other_lengths(self):
        self.assert_done(self.python("horovod_joining_worker.py", workers=3), workers=3)

    def test_what_elastic_jobs_do_not_have(self):
        self.assert_done(self.launch(jobs.sys.executable, "-c", ELASTIC, workers="1:2", servers=1))

    def test_operations_in_flight_let_program_end(self):
        # With STRETTO_TEST_ALL=1 all cases run.
        for way, status in jobs.one_of(("0", 0), ("3", 3), ("error", 1)):
            job = self.launch(jobs.sys.executable, "-c", UNSYNCHRONIZED, way, workers=2, servers=1)
            self.assertEqual(job.end(jobs.TORCH_PATIENCE), status, job.output())

    def test_alone(self):
        process = self.alone("-c", ALONE)
        self.assertEqual(process.end(jobs.TORCH_PATIENCE), 0, process.output())


class Handles(unittest.TestCase):

    def test_a_result_is_made_once(self):
        made = handles.Mapped(handles.Ended([1]), list)
        self.assertTrue(made.done())
        self.assertIs(made.wait(), made.wait())
        self.assertTrue(made.done())

    def test_an_error_is_raised_each_time(self):
        made = handles.Mapped(handles.Ended("x"), int)
        for _ in range(2):
            with self.assertRaises(ValueError):
                made.wait()


if __name__ == "__main__":
    unittest.main()
