# SPDX-License-Identifier: Apache-2.0
"""Gradients exchanged among workers instead of through servers train the same model
(among_worker.py); unsupported cases raise an error at once.
"""

import os
import re
import unittest
from unittest import mock

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

import stretto.torch as st  # pylint: disable=wrong-import-position
from stretto.torch.core import ways  # pylint: disable=wrong-import-position

LONG = 300.0  # Seconds for all training of one job on a busy machine.


class Among(jobs.PythonTest):

    def test_two_workers(self):
        self.assert_done(self.python("among_worker.py"), seconds=LONG)

    def test_three_workers_and_small_parts(self):
        self.assert_done(self.python("among_worker.py", workers=3, servers=1,
                                     STRETTO_PART_BYTES=16384), workers=3, seconds=LONG)

    def test_five_workers_of_two_machines(self):
        self.assert_done(self.python("among_worker.py", workers=5, servers=1, MACHINES=2,
                                     STRETTO_PART_BYTES=16384), workers=5, seconds=LONG)

    def test_bits_are_the_same_in_every_run(self):
        found = []
        for _ in range(2):
            job = self.python("among_worker.py",
                              "Among.test_what_is_printed_is_the_same_in_every_run", workers=3)
            self.assert_done(job, workers=3, seconds=LONG)
            found.append(sorted(set(re.findall("by [a-z]+: [0-9a-f]{64}", job.output()))))
        self.assertEqual([line.split(":")[0] for line in found[0]],
                         [f"by {way}" for way in sorted(ways.EXCHANGES[1:])])
        self.assertEqual(*found)


class Refused(unittest.TestCase):

    def setUp(self):
        st.init()
        self.addCleanup(st.shutdown)

    def wrap(self, kind=torch.float32, **options):
        layer = torch.nn.Linear(2, 2).to(kind)
        return st.DistributedOptimizer(torch.optim.SGD(layer.parameters(), lr=0.1),
                                       layer.named_parameters(), **options)

    def test_before_anything_travels(self):
        for words, options in (
                ("'star', wanted one of servers, direct, ring, halving, tree, hierarchical, auto",
                 {"exchange": "star"}),
                ("is '', wanted one of", {"exchange": ""}),
                ("'ring' is for modes 'sync' and 'delayed'; mode 'eager' has its values",
                 {"exchange": "ring", "mode": "eager"}),
                ("'tree' is for modes 'sync' and 'delayed'; mode 'async'",
                 {"exchange": "tree", "mode": "async"}),
                ("'direct' is for gradients as they are; compression=",
                 {"exchange": "direct", "compression": st.Compression.fp16}),
                ("'halving' is for gradients as they are; compression=",
                 {"exchange": "halving", "compression_params": {"compressor": "onebit"}}),
                ("'ring' is for means of float32 and float64, and parameter 'weight' is bfloat16",
                 {"exchange": "ring", "kind": torch.bfloat16})):
            with self.subTest(options), self.assertRaisesRegex(ValueError, words):
                self.wrap(**options)
        with self.assertRaisesRegex(ValueError, "'ring' is for means of float32 and float64"):
            st.DistributedDataParallel(torch.nn.Linear(2, 2).half(), exchange="ring")

    def test_codecs_of_the_environment(self):
        with mock.patch.dict(os.environ, STRETTO_CODEC="onebit"):
            with self.assertRaisesRegex(ValueError, "STRETTO_CODEC is set"):
                self.wrap(exchange="ring")
            self.wrap(exchange="servers")

    def test_every_way_is_taken(self):
        for way in ways.EXCHANGES:
            self.wrap(exchange=way)


if __name__ == "__main__":
    unittest.main()
