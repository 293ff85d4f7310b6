# SPDX-License-Identifier: Apache-2.0
"""The guide's script saves and resumes, and an export has every parameter of a model."""

import json
import re
import sys
import unittest

import jobs
import kept
from jobs import cluster

EMPTY = """
import torch
import stretto.torch as st
st.init()
model = torch.nn.Linear(3, 2)
model.nothing = torch.nn.Parameter(torch.zeros(0, 3))
model.register_buffer("none", torch.zeros(0))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
st.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = st.DistributedOptimizer(optimizer, model.named_parameters())
for step in range(st.restore(), 4):
    optimizer.zero_grad()
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    if step == 1:
        assert st.checkpoint(2)
        break
print("done", flush=True)
"""
# In the second run the buffer has other numbers before restore().
CONJUGATE = """
import sys
import torch
import stretto.torch as st
st.init()
model = torch.nn.Linear(3, 2)
saved = torch.polar(torch.ones(4), torch.arange(4.0)).conj()
model.register_buffer("turns", saved if sys.argv[1] == "saves" else torch.zeros_like(saved).conj())
model.register_buffer("less", torch._neg_view(saved.imag.clone() * len(sys.argv[1])))
wanted = {"turns": saved.resolve_conj(), "less": -saved.imag * len("saves")}
st.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer = st.DistributedOptimizer(optimizer, model.named_parameters())
if st.restore() == 0:
    assert sys.argv[1] == "saves" and st.checkpoint(1)
for name, buffer in model.named_buffers():
    assert torch.equal(buffer, wanted[name]), (name, buffer)
print("done", flush=True)
"""
# Kills worker 1 in the middle of the training, after a complete checkpoint.
KILLED = """    st.checkpoint(step + 1) if step == 50 else st.checkpoint_if_due(step + 1)
    if step == 55 and st.rank() == 1:
        import os
        os.kill(os.getpid(), 9)
"""
# Kills worker 1 at its step 5. Worker 0 makes steps until the replacement has made 5.
REPLACED = """
import itertools
import os
import pathlib
done = pathlib.Path({done!r})
number = int(os.environ["STRETTO_RANK"])
def steps(first):
    print("begins at", first, flush=True)
    for step in itertools.count(first):
        if number == 1 and step == 5:
            os.kill(os.getpid(), 9)
        if number > 1 and step == 5:
            print("turns", model.turns[0].imag.item(), flush=True)
            done.touch()
        if done.exists():
            return
        yield step
"""
TURNS = """model.register_buffer("turns", torch.tensor([complex(0, number + 1)]).conj())
optimizer = """
DUE = re.compile(r"^    st\.checkpoint_if_due\(step \+ 1\).*\n", re.MULTILINE)


class Guide(kept.KeptTest):

    def program(self, name, text):
        path = self.folder.with_name(name)
        path.write_text(text, encoding="utf-8")
        return sys.executable, path

    def guide(self):
        """The script of the page."""
        page = (cluster.SOURCE / "docs" / "PYTORCH.md").read_text(encoding="utf-8")
        text = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
        return text.replace('"model.pt"', repr(str(self.folder.with_name("model.pt"))))

    def loss(self, job):
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        loss, = [line for line in job.lines_of("worker 0") if line.startswith("loss ")]
        return loss

    def test_killed_guide_script_resumes(self):
        text = self.guide()
        program = self.program("train.py", text)
        undisturbed = self.loss(self.launch(*program, workers=2, servers=2))
        flags = ("--checkpoint", self.folder, "--checkpoint-every", "10m")
        killed, replaced = DUE.subn(KILLED, text)
        self.assertEqual(replaced, 1)
        job = self.launch(*self.program("killed.py", killed), workers=2, servers=2, flags=flags)
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 137, job.output())
        job = self.launch(*program, workers=2, servers=2, flags=flags)
        self.assertEqual(self.loss(job), undisturbed)
        job.expect("the job goes on from checkpoint 1 of step 51")

    def test_conjugate_buffers_are_restored(self):
        program = self.program("conjugate.py", CONJUGATE)
        for way in ("saves", "restored"):
            job = self.launch(*program, way, workers=2, servers=1,
                              flags=("--checkpoint", self.folder))
            self.assert_done(job, 2)

    def test_replacement_without_folder_trains(self):
        done = str(self.folder.with_name("done"))
        text = REPLACED.format(done=done) + self.guide().replace("range(st.restore(), 100)",
                                                                 "steps(st.restore())")
        text = text.replace("optimizer = ", TURNS, 1)
        text = re.sub(r"^loss = st\.push_pull.*\n", "", text, flags=re.MULTILINE)
        self.assertNotIn("range(", text)
        job = self.launch(*self.program("replaced.py", text), workers="1:2", servers=1,
                          flags=("--restarts", 1))
        self.loss(job)
        self.assertIn("begins at 0", job.lines_of("worker 2"))
        self.assertIn("turns -1.0", job.lines_of("worker 2"))

    def test_export_has_empty_parameters(self):
        program = self.program("empty.py", EMPTY)
        for _ in range(2):  # The second job resumes.
            job = self.launch(*program, workers=2, servers=1, flags=("--checkpoint", self.folder))
            self.assert_done(job, 2)
        job.expect("the job goes on from checkpoint 1 of step 2")
        target = self.folder.with_name("model.safetensors")
        self.tool("export", self.folder, "--to", target)
        data = target.read_bytes()
        header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
        self.assertEqual(set(header) - {"__metadata__"}, {"weight", "bias", "nothing", "none"})
        self.assertEqual(header["nothing"]["shape"], [0, 3])
        self.assertEqual(header["none"]["shape"], [0])
        self.assertEqual(header["weight"]["shape"], [2, 3])


if __name__ == "__main__":
    unittest.main()
