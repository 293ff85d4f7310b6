# SPDX-License-Identifier: Apache-2.0
"""Type hints, checked by mypy: the packages alone, and a program that uses them. PyTorch's own
hints are not checked, because that takes minutes.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import jobs

PROGRAM = """
from typing import Optional
import torch
import stretto.torch as st

st.init()
rank: int = st.rank()
tensor: torch.Tensor = st.push_pull(torch.ones(3), name="x", average=False)
handle: st.Handle = st.push_pull_async(tensor, "x")
done: bool = handle.done()
everybody: list = st.allgather_object(rank, group=st.Group([0]))
rows: torch.Tensor = st.reduce_scatter(tensor, average=False)
model = torch.nn.Linear(2, 1)
optimizer = st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                    model.named_parameters(), mode="eager")
optimizer.finish()
{mistake}
"""


class Typing(unittest.TestCase):

    def mypy(self, *words, folder):
        """Runs mypy there; returns its output."""
        done = subprocess.run([sys.executable, "-m", "mypy", "--follow-imports=skip",
                               "--ignore-missing-imports", "--cache-dir", folder, *words],
                              cwd=jobs.cluster.SOURCE / "bindings" / "python",
                              capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def test_packages_and_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(PROGRAM.format(mistake=""), encoding="utf-8")
            said = self.mypy("stretto", "byteps", program, folder=folder)
            self.assertIn("Success: no issues found", said)
            program.write_text(PROGRAM.format(mistake='st.push_pull(torch.ones(1), name=3)'),
                               encoding="utf-8")
            said = self.mypy("stretto", program, folder=folder)
            self.assertIn('error: Argument "name" to "push_pull" has incompatible type', said)
            self.assertIn("Found 1 error", said)


if __name__ == "__main__":
    unittest.main()
