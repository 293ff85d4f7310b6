# SPDX-License-Identifier: Apache-2.0
"""Jobs of PyTorch programs that make checkpoints in a folder of the test's own."""

import pathlib
import re
import subprocess
import tempfile

import jobs
from jobs import cluster

TOOL = cluster.BIN / "stretto-checkpoint"


class KeptTest(jobs.PythonTest):

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "run"

    def keep(self, *arguments, flags=(), **options):
        return self.python("checkpoints_worker.py", *arguments,
                           flags=("--checkpoint", self.folder, *flags), **options)

    def ends(self, job, workers=2):
        self.assert_done(job, workers)
        ends = [re.findall(r"^end (.*)$", "\n".join(job.lines_of(f"worker {rank}")), re.M)
                for rank in range(workers)]
        return [end[0] for end in ends]

    def tool(self, *arguments):
        return subprocess.run([TOOL, *map(str, arguments)], check=True, capture_output=True,
                              text=True).stdout

    def misuse(self, way, **options):
        """What worker 0 says, line by line."""
        job = self.python("checkpoints_misuse_worker.py", way,
                          flags=("--checkpoint", self.folder), **options)
        self.assert_done(job)
        lines = [job.lines_of(f"worker {rank}") for rank in (0, 1)]
        for rank in (0, 1):
            lines[rank] = [line for line in lines[rank] if line and line[0] != " "]
        return lines
