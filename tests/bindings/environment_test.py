# SPDX-License-Identifier: Apache-2.0
"""The place of a process by its environment: the meaning of each launcher's variables; local ranks
are those of torchrun in jobs of stretto-launch and of bpslaunch.
"""

import os
import sys
import unittest
from unittest import mock

import jobs

jobs.use_packages()

from stretto import environment, errors, session  # pylint: disable=wrong-import-position

# stretto-launch's variables of worker 5 of 6, the second on its host: for BytePS its own host.
LAUNCHED = {"STRETTO_RANK": 5, "STRETTO_WORLD_SIZE": 6, "STRETTO_SCHEDULER": "h:1",
            "DMLC_NUM_WORKER": 6, "DMLC_WORKER_ID": 5, "BYTEPS_LOCAL_RANK": 0,
            "BYTEPS_LOCAL_SIZE": 1, "RANK": 5, "WORLD_SIZE": 6, "LOCAL_RANK": 1,
            "LOCAL_WORLD_SIZE": 2}
BY_HAND = {"DMLC_PS_ROOT_URI": "h", "DMLC_PS_ROOT_PORT": 1, "DMLC_NUM_WORKER": 3,
           "DMLC_WORKER_ID": 2, "BYTEPS_LOCAL_RANK": 1, "BYTEPS_LOCAL_SIZE": 2}
PRINT_PLACE = """
import sys
from stretto import session
session.begin(lazy=False)
now = session.current()
sys.stdout.write(f"local {now.place.local_rank} of {now.place.local_size} "
                 f"is {now.rank} of {now.size}\\n")  # A whole line, also beside others'.
session.end()
"""


class Place(unittest.TestCase):

    def place(self, **variables):
        """(rank, size, local rank, local size) by these variables alone."""
        given = {name: str(value) for name, value in variables.items()}
        with mock.patch.dict(os.environ, given, clear=True):
            found = environment.place()
        return found.rank, found.size, found.local_rank, found.local_size

    def test_by_each_starter_s_variables(self):
        by_mpirun = {"OMPI_COMM_WORLD_LOCAL_RANK": 1, "OMPI_COMM_WORLD_LOCAL_SIZE": 4}
        for name, variables, wanted in (
                ("nobody", {}, (0, 1, 0, 1)),
                ("stretto-launch", LAUNCHED, (5, 6, 1, 2)),
                ("stretto-launch through mpirun", LAUNCHED | by_mpirun, (5, 6, 1, 2)),
                ("by DMLC_ and BYTEPS_", BY_HAND, (5, 6, 1, 2)),
                ("mpirun", {"DMLC_NUM_WORKER": 8, "STRETTO_SCHEDULER": "h:1"} | by_mpirun,
                 (-1, 8, 1, 4)),
                ("torchrun", {"RANK": 3, "WORLD_SIZE": 4, "LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 2},
                 (0, 1, 1, 2))):
            with self.subTest(name):
                self.assertEqual(self.place(**variables), wanted)

    def test_who_joins_from_another_host_says_how_many_the_job_began_with(self):
        """`stretto-launch join` knows it only on the host of the job's launcher."""
        joins = {"STRETTO_RANK": -1, "STRETTO_SCHEDULER": "h:1", "STRETTO_ROLE": "worker"}
        with self.assertRaisesRegex(errors.InvalidArgument, "set STRETTO_WORLD_SIZE to that"):
            self.place(**joins)
        self.assertEqual(self.place(**joins, STRETTO_WORLD_SIZE=3), (-1, 3, 0, 1))

    def test_who_comes_into_a_job_that_runs_has_a_rank_beyond_it(self):
        late = LAUNCHED | {"STRETTO_RANK": 6, "STRETTO_WORLD_SIZE": 6}
        with self.assertRaisesRegex(errors.InvalidArgument, "only 6 workers"):
            self.place(**late)
        given = {name: str(value) for name, value in (late | {"STRETTO_MIN_WORKERS": 2}).items()}
        with mock.patch.dict(os.environ, given, clear=True):
            self.assertTrue(environment.place().late)

    def test_a_job_may_have_no_servers(self):
        for name in ("STRETTO_SERVERS", "DMLC_NUM_SERVER"):
            with mock.patch.dict(os.environ, {name: "0"}, clear=True):
                self.assertEqual(environment.place().servers, 0)
            with mock.patch.dict(os.environ, {name: "-1"}, clear=True):
                with self.assertRaisesRegex(errors.InvalidArgument, f"{name} is '-1', wanted a w"):
                    environment.place()

    def test_one_host_of_byteps_is_alone_unless_forced(self):
        """Its scheduler and servers do not exist: they exit immediately."""
        single = {"DMLC_PS_ROOT_URI": "h", "DMLC_PS_ROOT_PORT": 1, "DMLC_NUM_WORKER": 1,
                  "DMLC_WORKER_ID": 0}
        for more, wanted in (({}, ""), ({"BYTEPS_FORCE_DISTRIBUTED": 1}, "h:1"),
                             ({"BYTEPS_LOCAL_SIZE": 2}, "h:1"), ({"DMLC_NUM_WORKER": 2}, "h:1"),
                             ({"STRETTO_SCHEDULER": "s:2"}, "s:2")):
            given = {name: str(value) for name, value in (single | more).items()}
            with self.subTest(more), mock.patch.dict(os.environ, given, clear=True):
                self.assertEqual(environment.place().scheduler, wanted)

    def test_other_launchers_processes_are_told(self):
        """Once, at the starting line, with the findings and the remedy: an error if each process
        would train a model of its own, and a warning if processes may be independent."""
        for variables, wanted in (
                ({"RANK": 3, "WORLD_SIZE": 4}, "WORLD_SIZE is 4"),
                ({"HOROVOD_RANK": 1, "HOROVOD_SIZE": 4}, "HOROVOD_SIZE is 4"),
                ({"OMPI_COMM_WORLD_SIZE": 2}, "OMPI_COMM_WORLD_SIZE is 2"),
                ({"MV2_COMM_WORLD_SIZE": 2}, "MV2_COMM_WORLD_SIZE is 2"),
                ({"JSM_NAMESPACE_SIZE": 2}, "JSM_NAMESPACE_SIZE is 2"),
                ({"HOROVOD_SIZE": 4, "STRETTO_WORLD_SIZE": 1}, ""),
                ({"WORLD_SIZE": 1}, ""), ({}, ""), ({"WORLD_SIZE": "all"}, ""),
                ({"WORLD_SIZE": 4, "STRETTO_WORLD_SIZE": 1}, ""),
                ({"WORLD_SIZE": 4, "DMLC_NUM_WORKER": 1}, ""), (LAUNCHED, "")):
            given = {name: str(value) for name, value in variables.items()}
            with self.subTest(given), mock.patch.dict(os.environ, given, clear=True):
                said = environment.mistaken_for_alone()
                self.assertTrue(said.startswith(wanted) if wanted else not said, said)
                if not wanted:
                    continue
                self.assertIn("stretto-launch -n", said)
                if wanted.startswith(("WORLD_SIZE", "HOROVOD_SIZE")):
                    with self.assertRaisesRegex(errors.InvalidArgument, wanted):
                        session.begin()
                    self.assertFalse(session.is_initialized())
                    continue
                with self.assertWarnsRegex(RuntimeWarning, wanted) as caught:
                    session.begin()
                session.end()
                self.assertEqual(caught.filename, __file__)

    def test_ranks_of_torchrun_are_recognized(self):
        rank = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "29500"}
        for more, wanted in (({}, True), ({"WORLD_SIZE": "1"}, False), ({"MASTER_PORT": ""}, False),
                             ({"STRETTO_SCHEDULER": "h:1"}, False), ({"WORLD_SIZE": "x"}, False),
                             ({"STRETTO_WORLD_SIZE": "1"}, False)):
            with self.subTest(more), mock.patch.dict(os.environ, rank | more, clear=True):
                self.assertEqual(environment.is_rank_of_torch(), wanted)

    def test_a_local_rank_is_below_its_size(self):
        for words, variables in (
                ("LOCAL_RANK is 2, but LOCAL_WORLD_SIZE is 2",
                 {"LOCAL_RANK": 2, "LOCAL_WORLD_SIZE": 2}),
                ("LOCAL_RANK is 1, but LOCAL_WORLD_SIZE is not set", {"LOCAL_RANK": 1}),
                ("BYTEPS_LOCAL_RANK is 3, but BYTEPS_LOCAL_SIZE is 2",
                 BY_HAND | {"BYTEPS_LOCAL_RANK": 3}),
                ("BYTEPS_LOCAL_RANK is 2, but BYTEPS_LOCAL_SIZE is 2",
                 BY_HAND | {"BYTEPS_LOCAL_RANK": 2, "LOCAL_RANK": 0})):
            with self.subTest(words), self.assertRaisesRegex(errors.InvalidArgument, words):
                self.place(**variables)

    def test_the_older_names_make_the_world_whatever_torchrun_s_say(self):
        self.assertEqual(self.place(**BY_HAND, LOCAL_RANK=7, LOCAL_WORLD_SIZE=8), (5, 6, 7, 8))


class LocalRanks(jobs.PythonTest):

    def test_bpslaunch_of_one_host_as_in_its_tutorial(self):
        common = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": 1, "DMLC_NUM_WORKER": 1,
                  "DMLC_NUM_SERVER": 1, "DMLC_ROLE": "worker", "DMLC_WORKER_ID": 0}
        words = [sys.executable, "-m", "stretto.bpslaunch", sys.executable, "-c"]
        alone = self.start("alone", [*words, PRINT_PLACE], **common)
        self.assertEqual(alone.end(), 0, alone.output())
        alone.expect("^local 0 of 1 is 0 of 1$")
        two = self.start("two", [*words, "pass"], BYTEPS_LOCAL_SIZE=2, **common)
        self.assertEqual(two.end(), 0, two.output())
        two.expect("set it for all three, or start with 'stretto-launch -n 2 -s 1")

    def test_stretto_launch(self):
        job = self.launch(sys.executable, "-c", PRINT_PLACE, workers=3, servers=1)
        self.assertEqual(job.end(), 0, job.output())
        for rank in range(3):
            self.assertEqual(job.lines_of(f"worker {rank}"), [f"local {rank} of 3 is {rank} of 3"])

    def test_bpslaunch(self):
        common = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_NUM_WORKER": 2, "DMLC_NUM_SERVER": 1}
        scheduler = self.start("scheduler", [jobs.cluster.SCHEDULER], DMLC_PS_ROOT_PORT=0, **common)
        common["DMLC_PS_ROOT_PORT"] = jobs.cluster.address_of(scheduler)[1]
        server = self.start("server", [jobs.cluster.SERVER], **common)
        hosts = [self.start(f"host {host}",
                            [sys.executable, "-m", "stretto.bpslaunch", sys.executable, "-c",
                             PRINT_PLACE],
                            DMLC_ROLE="worker", DMLC_WORKER_ID=host, BYTEPS_LOCAL_SIZE=2,
                            LOCAL_RANK=host, LOCAL_WORLD_SIZE=1, **common)  # By an outer launcher.
                 for host in range(2)]
        for host, process in enumerate(hosts):
            self.assertEqual(process.end(), 0, process.output())
            for local in range(2):
                process.expect(f"^local {local} of 2 is {2 * host + local} of 4$")
        for process in (scheduler, server):
            self.assertEqual(process.end(), 0, process.output())


if __name__ == "__main__":
    unittest.main()
