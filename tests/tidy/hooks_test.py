# SPDX-License-Identifier: Apache-2.0
"""tools/install-hooks and the hook that checks subjects of commits, in a clone of one commit."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


class CommitSubjects(unittest.TestCase):
    """Commits by real git, with the hook installed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(TOOLS / "hooks", self.root / "tools" / "hooks")
        shutil.copy(TOOLS / "install-hooks", self.root / "tools")
        self.run_git("init", "-q")
        subprocess.run([self.root / "tools" / "install-hooks"], check=True,
                       stdout=subprocess.DEVNULL)

    def run_git(self, *words):
        return subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b",
                               *words], check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**os.environ, "LC_ALL": "C"})

    def commit(self, subject):
        return self.run_git("commit", "-q", "--allow-empty", "-m", subject)

    def test_imperative_subject_passes(self):
        for subject in ("Fix a leak in the session", "Bring the reader up to date",
                        "Add " + "x" * 68, "Merge branch 'a'"):
            done = self.commit(subject)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_other_subject_is_refused_with_its_fault(self):
        for subject, fault in (("Add " + "x" * 69, "73 columns"),
                               ("Fix a leak.", "full stop"),
                               ("Fixed a leak", "wanted an imperative"),
                               ("Adding a test", "wanted an imperative"),
                               ("A line less", "wanted an imperative"),
                               ("fix a leak", "wanted an imperative")):
            done = self.commit(subject)
            self.assertNotEqual(done.returncode, 0, subject)
            self.assertIn(fault, done.stdout)


if __name__ == "__main__":
    unittest.main()
