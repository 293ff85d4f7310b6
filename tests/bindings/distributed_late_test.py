# SPDX-License-Identifier: Apache-2.0
"""Backend "stretto" of torch.distributed with a late rank: peers hold data that it cannot take yet,
its memory is bounded, and no call fails (distributed_late_worker.py).
"""

import unittest

import jobs


class LateRank(jobs.PythonTest):

    def test_late_rank_keeps_little(self):
        for call in jobs.some("reduce", "broadcast", "reduce_scatter", "all_reduce", least=4):
            with self.subTest(call):
                self.assert_done(self.python("distributed_late_worker.py", call, servers=0))

    def test_late_rank_keeps_little_over_tcp(self):
        self.assert_done(self.python("distributed_late_worker.py", "reduce", servers=0,
                                     STRETTO_TRANSPORT="tcp"))


if __name__ == "__main__":
    unittest.main()
