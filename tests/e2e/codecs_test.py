# SPDX-License-Identifier: Apache-2.0
"""Codecs in jobs of real processes: 2 workers, 2 servers, a tensor for each codec, several rounds,
with and without error feedback; every value equals the codec's arithmetic to the bit, and without a
codec the sum.
"""

import unittest

import cluster

CODING = cluster.BUILD / "tests" / "coding"
CODECS = ("none", "fp16", "bf16", "int8", "onebit", "onebit,scaling=true", "topk,k=0.01",
          "topk,k=0.5", "topk,k=900", "randomk,k=0.05,seed=3", "randomk,k=0.99",
          "dithering,k=1", "dithering,k=7,partition=natural", "dithering,k=100,normalize=l2")
FEEDBACK = tuple(f"{codec},ef=vanilla" for codec in CODECS[1:])
OTHERS = ("onebit,scaling=true,ef=vanilla,momentum=nesterov", "int8,momentum=nesterov,mu=0.5")
PART_BYTES = 4096
SECONDS = 300


class Codecs(cluster.ClusterTest):

    def check(self, codecs, *flags, part_bytes=PART_BYTES, **environment):
        """All values of all workers are right."""
        job = self.launch(CODING, "--codecs", ";".join(codecs), "--part_bytes", part_bytes, *flags,
                          STRETTO_PART_BYTES=part_bytes, **environment)
        self.assertEqual(job.end(SECONDS), 0, job.output())
        job.expect(rf"verified codecs={len(codecs)} rounds=\d+ wrong=0", count=2)
        self.assert_nobody_left()

    def test_every_bit_is_the_arithmetics(self):
        self.check((*CODECS, *FEEDBACK, *OTHERS))

    def test_over_the_network(self):
        self.check((*CODECS, *FEEDBACK), "--rounds", 3, STRETTO_TRANSPORT="tcp")

    def test_push_and_then_pull(self):
        self.check((*CODECS, *FEEDBACK), "--rounds", 2, "--apart")

    def test_large_parts_on_the_pools_threads(self):
        self.check(("none", "fp16", "onebit,scaling=true,ef=vanilla", "topk,k=0.01,ef=vanilla"),
                   "--elements", 3_000_001, "--rounds", 2, part_bytes=256 << 10)

    def test_a_codec_of_the_environment_by_name(self):
        """The program asks for codec none; the rule for its name is not used then."""
        self.check(("none",), "--rounds", 2, STRETTO_CODEC="*=onebit", STRETTO_CODEC_MIN_BYTES=0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
