# SPDX-License-Identifier: Apache-2.0
"""The pages' commands do what they say: each command `build/bin/...` of README.md, docs/ and
examples/ is run, with the programs of this build, and must end with status 0; a mark of each other
command names the test that runs it, or the reason for none.
"""

import re
import subprocess
import unittest

import cluster
import pages

README = cluster.SOURCE / "README.md"
API = cluster.SOURCE / "docs" / "API.md"
README_LINES = 250
SECONDS = 120
_OURS = "build/bin/"


class Readme(cluster.ClusterTest):

    def test_commands(self):
        commands = [(block.where, command) for block in pages.blocks(cluster.SOURCE)
                    if block.language in pages.COMMANDS and not block.mark
                    for command in block.commands()]
        self.assertGreater(len(commands), 5, "the pages show hardly a command that can be run")
        for where, command in commands:
            with self.subTest(where, command=command):
                here = re.sub(rf"(?<!\S){_OURS}", f"{cluster.BIN}/", command)
                done = subprocess.run(["bash", "-c", here], cwd=cluster.SOURCE, text=True,
                                      env=self.environment(), timeout=SECONDS, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual(done.returncode, 0, f"$ {command}\n{done.stdout}")
        self.assert_nobody_left()

    def test_quickstart_builds_what_the_first_pages_run(self):
        script = (cluster.SOURCE / "tools" / "quickstart").read_text(encoding="utf-8")
        built = re.search(r"^readonly TARGETS=\(([^)]*)\)$", script, re.MULTILINE)[1].split()
        for page in (README, API):
            with self.subTest(page.name):
                named = re.findall(r"build/bin/([a-z-]+)", page.read_text(encoding="utf-8"))
                self.assertNotEqual(named, [])
                self.assertEqual(set(named) - set(built), set())

    def test_the_readme_is_short(self):
        self.assertLessEqual(len(README.read_text(encoding="utf-8").splitlines()), README_LINES,
                             "what is for those who have begun belongs in docs/")

    def test_every_public_header_is_named(self):
        named = set(re.findall(r"\]\(\.\./(\S+include/stretto/\w+\.h)\)",
                               API.read_text(encoding="utf-8")))
        tops = ("common", "checkpoint", "worker", "input", "rpc")
        there = {path.relative_to(cluster.SOURCE).as_posix() for top in tops
                 for path in (cluster.SOURCE / top).rglob("include/stretto/*.h")}
        self.assertEqual(named, there)


class Marks(unittest.TestCase):

    def test_every_block_says_what_it_is(self):
        for block in pages.blocks(cluster.SOURCE):
            with self.subTest(block.where):
                self.assertIn(block.language, pages.COMMANDS + pages.OTHERS,
                              "wanted ```sh or ```console for commands, ```text for what is none")
                if block.mark:
                    self.assertIn(block.language, pages.COMMANDS, "no command, and a mark")

    def test_a_command_is_run_or_says_why_not(self):
        for block in pages.blocks(cluster.SOURCE):
            if block.language not in pages.COMMANDS:
                continue
            with self.subTest(block.where):
                self.assertNotEqual(block.commands(), [], "a block of commands that has none")
                if block.mark:
                    self.assertTrue(block.test or block.reason, f"what does it say? {block.mark}")
                    if block.test:
                        self.assertTrue((cluster.SOURCE / block.test).is_file(), block.test)
                    continue
                for command in block.commands():
                    self.assertTrue(command.startswith(_OURS),
                                    f"nothing runs '{command}': say above the block what does, as "
                                    "in <!-- run by tests/... -->, or <!-- not run: why -->")


class Extraction(unittest.TestCase):

    def test_what_counts(self):
        text = ("```console\n$ build/bin/a --b\nits output\n$ ls\n$ build/bin/c \\\n>   --d\n```\n"
                "<!-- not run: no such thing -->\n```sh\n# why\nbuild/bin/e  # what\n```\n"
                "$ build/bin/f\n```text\n$ g\n```\n<!-- run by h_test.py -->\n```sh\ni\n```\n")
        found = pages.blocks_in("page", text)
        self.assertEqual([block.language for block in found], ["console", "sh", "text", "sh"])
        self.assertEqual(found[0].commands(), ["build/bin/a --b", "ls", "build/bin/c  --d"])
        self.assertEqual(found[1].commands(), ["build/bin/e  # what"])
        self.assertEqual([block.reason for block in found], [None, "no such thing", None, None])
        self.assertEqual([block.test for block in found], [None, None, None, "h_test.py"])
        self.assertEqual([block.line for block in found], [1, 9, 14, 18])


if __name__ == "__main__":
    unittest.main(verbosity=2)
