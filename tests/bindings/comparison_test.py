# SPDX-License-Identifier: Apache-2.0
"""comparison.py in short: a few cases of each kind give the same with backend "stretto" as with
gloo, or better, and worse results would be noticed."""

import unittest

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position
import torch.distributed as dist  # pylint: disable=wrong-import-position

import comparison  # pylint: disable=wrong-import-position

SHORT = ("all_reduce float32", "all_reduce bfloat16", "all reduce sparse", "recv from any rank",
         "all gather coalesced", "destroy process group of subgroup",
         "callbacks that wait for calls", "options {}", "hook powerSGD", "ZeRO",
         "join with uneven inputs", "DTensor from S0 to S1", "FSDP1 FULL_SHARD",
         "functional all_gather_into_tensor_coalesced", "pipelining ScheduleGPipe",
         "checkpoint of dtensors")


class Comparison(unittest.TestCase):

    def counts(self, cases):
        """The number of cases by verdict, and the rows."""
        rows = []
        comparison.prepare()
        counts = comparison.table(cases, rows.append)
        total = {}
        for words in counts.values():
            for word, count in words.items():
                total[word] = total.get(word, 0) + count
        return total, "\n".join(rows)

    def test_chosen_cases_are_not_worse(self):
        chosen = [(group, case) for group, case in comparison.all_cases() if case.name in SHORT]
        self.assertEqual(len(chosen), len(SHORT))
        counts, rows = self.counts(chosen)
        self.assertLessEqual(set(counts), {"equal", "close", "better", "limit of this PyTorch"},
                             rows)
        self.assertGreaterEqual(counts["equal"], 6, rows)

    def test_worse_and_different_cases_are_noticed(self):
        def fails(rank):
            if dist.get_backend() == "stretto" and rank == 1:
                raise ValueError("a bug of the backend's")
            return torch.ones(1)
        cases = comparison.Cases()
        cases.add("worse", fails)
        cases.add("different", lambda rank: torch.tensor(dist.get_backend() == "stretto"))
        cases.add("equal", lambda rank: torch.ones(2))
        cases.add("limit", lambda rank: torch.no_such_call())
        def fails_apart(rank):
            raise (KeyError if dist.get_backend() == "stretto" else ValueError)(rank)
        cases.add("both", fails_apart)
        counts, rows = self.counts([("a test", case) for case in cases])
        self.assertEqual(counts, {"worse": 1, "differ": 1, "equal": 1, "limit of this PyTorch": 1,
                                  "both fail": 1},
                         rows)


    def test_standstills_are_no_limits(self):
        hang, died = (comparison.Outcome(text, ()) for text in ("Hang: rank 0", "Died: a rank"))
        for stretto, gloo in ((hang, hang), (died, died), (hang, died)):
            self.assertEqual(comparison.verdict(stretto, gloo, "all_reduce uint16"),
                             "both fail")


if __name__ == "__main__":
    unittest.main()
