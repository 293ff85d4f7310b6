# SPDX-License-Identifier: Apache-2.0
"""Gradients with NaN in them in PyTorch programs, by STRETTO_NONFINITE."""

import unittest

import jobs


class NotFinite(jobs.PythonTest):
    def ends(self, policy, mode="sync"):
        job = self.python("not_finite_worker.py", mode, STRETTO_NONFINITE=policy)
        status = job.end(jobs.TORCH_PATIENCE)
        self.assert_nobody_left()
        said = {line.split("parameters ")[1] for line in job.lines if "parameters " in line}
        return job, status, said

    def test_what_is_rejected_costs_its_contribution(self):
        for mode in ("sync", "delayed"):
            job, status, said = self.ends("reject", mode)
            self.assertEqual(status, 0, job.output())
            self.assertEqual(len(said), 1, "both have the same")
            self.assertNotIn("nan", said.pop())
            job.expect(r"\[worker 1\] .*warning.* of the contribution of worker 1 \d+ of \d+ "
                       r"elements are NaN or infinite, the first is nan at ")

    def test_what_is_raised_ends_all_with_the_name(self):
        job, status, said = self.ends("raise")
        self.assertNotEqual(status, 0)
        self.assertEqual(said, set())
        for rank in range(2):
            job.expect(rf"\[worker {rank}\] stretto.errors.NotFinite: .*'Gradient\..*"
                       r"of the contribution of worker 1 \d+ of")
        job.expect(r"\[worker 1\] .*; in this worker's gradients of 0.bias, 0.weight, ")
        job.expect(r"^ERROR ProgramFailed role=worker rank=1 .*saying 'NotFinite: ")

    def test_what_is_not_looked_at_makes_all_parameters_nan(self):
        job, status, said = self.ends("pass")
        self.assertEqual(status, 0, job.output())
        self.assertIn("nan", said.pop())

    def test_a_policy_that_is_none_is_refused(self):
        job, status, _ = self.ends("ignore")
        self.assertNotEqual(status, 0)
        job.expect(r"STRETTO_NONFINITE.*'ignore'.*pass, count, reject or raise")


if __name__ == "__main__":
    unittest.main()
