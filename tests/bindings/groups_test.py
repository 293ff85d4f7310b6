# SPDX-License-Identifier: Apache-2.0
"""Groups with a member that is late or leaves: later calls of all members are refused
(groups_failing_worker.py). The program of the guide's page is tested, too.
"""

import os
import pathlib
import re
import sys
import tempfile
import unittest

import jobs

import cluster

TIMEOUT_S = 3


class Failing(jobs.PythonTest):

    def check(self, what, who):
        """A job of three workers that end with status 0."""
        with tempfile.TemporaryDirectory() as folder:
            pipe = pathlib.Path(folder) / "failed"
            os.mkfifo(pipe)
            job = self.python("groups_failing_worker.py", what, who, pipe, workers=3, servers=1,
                              STRETTO_OPERATION_TIMEOUT_S=TIMEOUT_S)
            self.assert_done(job, workers=3)

    def test_the_first_member_is_late(self):
        self.check("late", 0)

    def test_another_member_is_late(self):
        self.check("late", 2)

    def test_the_first_member_is_lost(self):
        self.check("lost", 0)

    def test_another_member_is_lost(self):
        self.check("lost", 2)


class Page(jobs.PythonTest):

    def test_the_lines_of_the_guide(self):
        page = (cluster.SOURCE / "docs" / "PYTORCH.md").read_text(encoding="utf-8")
        section = page.split("\n## Rows for each worker, and groups\n")[1].split("\n## ")[0]
        program, = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.py"
            path.write_text(program + '\nprint("done", flush=True)\n', encoding="utf-8")
            self.assert_done(self.launch(sys.executable, path, workers=3, servers=1), workers=3)


if __name__ == "__main__":
    unittest.main()
