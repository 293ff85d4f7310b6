# SPDX-License-Identifier: Apache-2.0
"""Codecs from Python: BytePS's keys, rules by environment, and training (compression_worker.py)."""

import unittest

import jobs


class Compression(jobs.PythonTest):

    def test_codecs_between_two_workers(self):
        self.assert_done(self.python("compression_worker.py", BYTEPS_MIN_COMPRESS_BYTES=64))

    def test_rules_by_name_from_the_environment(self):
        self.assert_done(self.python("compression_worker.py", "rules", STRETTO_CODEC_MIN_BYTES=0,
                                     STRETTO_CODEC="*signs*=onebit;*exact*=none"))

    def test_rules_that_make_no_sense_are_told(self):
        job = self.python("compression_worker.py", "rules", STRETTO_CODEC="*=zip")
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 1, job.output())
        self.assertIn("STRETTO_CODEC is '*=zip'", job.output())


if __name__ == "__main__":
    unittest.main()
