# SPDX-License-Identifier: Apache-2.0
"""The README's commands do what it says: each line `$ build/bin/...` of its console blocks is run,
with the programs of this build, and must end with status 0.
"""

import re
import subprocess
import unittest

import cluster

README = cluster.SOURCE / "README.md"
SECONDS = 120
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands_in(text):
    """Commands that start with build/bin/; a line that ends with a backslash goes on."""
    found = []
    for block in _BLOCK.findall(text):
        for line in re.sub(r"\\\n>?\s*", " ", block).splitlines():
            if line.startswith("$ build/bin/"):
                found.append(line[2:])
    return found


class Readme(cluster.ClusterTest):

    def test_commands(self):
        self.assertTrue(README.exists(), "there is no README.md, and there must be")
        commands = commands_in(README.read_text(encoding="utf-8"))
        self.assertNotEqual(commands, [], "the README shows no command that can be run")
        for command in commands:
            with self.subTest(command):
                here = re.sub(r"(?<!\S)build/bin/", f"{cluster.BIN}/", command)
                done = subprocess.run(["bash", "-c", here], cwd=cluster.SOURCE, text=True,
                                      env=self.environment(), timeout=SECONDS, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual(done.returncode, 0, f"$ {command}\n{done.stdout}")
        self.assert_nobody_left()


    def test_quickstart_builds_what_the_readme_runs(self):
        script = (cluster.SOURCE / "tools" / "quickstart").read_text(encoding="utf-8")
        built = re.search(r"^readonly TARGETS=\(([^)]*)\)$", script, re.MULTILINE)[1].split()
        named = re.findall(r"build/bin/([a-z-]+)", README.read_text(encoding="utf-8"))
        self.assertNotEqual(named, [])
        self.assertEqual(set(named) - set(built), set())


class Extraction(unittest.TestCase):

    def test_what_counts(self):
        text = ("```console\n$ build/bin/a --b\nits output\n$ ls\n$ build/bin/c \\\n>   --d\n```\n"
                "```sh\n$ build/bin/e\n```\n$ build/bin/f\n")
        self.assertEqual(commands_in(text), ["build/bin/a --b", "build/bin/c  --d"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
