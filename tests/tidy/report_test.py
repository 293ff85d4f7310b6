# SPDX-License-Identifier: Apache-2.0
"""tests/tidy/report.py and prose.py: what they count in small texts and in a small tree."""

import contextlib
import io
import pathlib
import subprocess
import tempfile
import unittest

import prose
import report


class Report(unittest.TestCase):
    """tests/tidy/report.py and prose.py."""

    def test_prose_counts_marks_per_sentence(self):
        self.assertEqual(prose.marks("A peer that waits, and who has all, stands by."), 3)
        self.assertEqual(prose.marks("The worker who waits is a peer; the standby serves."), 0)
        self.assertEqual(prose.comments("// One.\n// Two.\nint f();  // Three.\n# include <a>\n"),
                         "One. Two.\n\n")
        self.assertEqual(prose.docstrings('"""A."""\ndef f():\n    """B."""\n'), "A.\n\nB.")

    def test_report_of_a_small_tree(self):
        files = {
            "van/a.h": "class Wide {\n" + "  int m_;\n" * 13 +
                       "};\n// It is sent anew to who waits for it.\n",
            "van/low/a.h": '#include "van/a.h"\n',
            "van/b.h": '#include "van/low/a.h"\n',
            "tests/a_test.cc": "TEST(A, WhoWaits) {}\n",
        }
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            git = ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b"]
            for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "Add " * 20)):
                subprocess.run([*git, *words], check=True)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                report.main(root)
        for line in ("fullest folders: van 2, van/low 1", "cycles of folders: 1\n  van, van/low",
                     "classes by data members: Wide 13", "9 words  222.2 marks per 1,000",
                     "test names: 1; with Who, What, Nobody, Somebody: 1; over 45 characters: 0",
                     "commit subjects: 1 over 72 columns", "lines: product 18, tests 1"):
            self.assertIn(line, printed.getvalue())


if __name__ == "__main__":
    unittest.main()
