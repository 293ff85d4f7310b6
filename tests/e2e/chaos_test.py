# SPDX-License-Identifier: Apache-2.0
"""tools/chaos in short: a few random faults on one host, none of which hangs or is blamed on
somebody innocent; and that it would notice.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import cluster

CHAOS = cluster.SOURCE / "tools" / "chaos"


def chaos(*flags, **variables):
    """The exit status and the summary."""
    command = [sys.executable, CHAOS, "--json", "--starters", "local", "--parallel", "3", *flags]
    done = subprocess.run([str(word) for word in command], env=os.environ | variables, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, json.loads(done.stdout), done.stderr


class Chaos(unittest.TestCase):

    def test_a_few_faults(self):
        status, result, told = chaos("--faults", 6, "--seed", 157)
        self.assertEqual(status, 0, told)
        self.assertEqual(result["faults"], 6, told)
        for name in ("hangs", "lost", "doubled", "wrong_blame", "without_fault"):
            self.assertEqual(result[name], 0, told)
        self.assertLess(result["launcher_longest_s"], 15.0)
        self.assertIsNone(result["recover_p50_s"])

    def test_a_launcher_that_blames_somebody_else_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/bin")
            os.symlink(cluster.BUILD / "tests", f"{folder}/tests")
            launcher = f"{folder}/bin/stretto-launch"
            with open(launcher, "w", encoding="ascii") as script:
                script.write(f"#!/bin/sh\n{cluster.LAUNCH} \"$@\"\n"
                             "echo 'ERROR ServerLost role=server rank=7 peer=- op=run cause=x'\n"
                             "exit 1\n")
            os.chmod(launcher, 0o755)
            status, result, told = chaos("--faults", 2, "--seed", 157, "--build", folder)
        self.assertEqual(status, 1, told)
        self.assertEqual((result["faults"], result["wrong_blame"]), (2, 2), told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
