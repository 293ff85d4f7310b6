# SPDX-License-Identifier: Apache-2.0
"""The examples for PyTorch run and learn with each framework, started by stretto-launch; the BytePS
script also the way users of BytePS start theirs, a process for each role.
"""

import pathlib
import re
import socket
import sys
import tempfile
import unittest

import jobs

import cluster

EXAMPLES = cluster.SOURCE / "examples" / "torch"
ROLE = [sys.executable, "-m", "stretto.bpslaunch"]
LEAST_ACCURACY = 0.95  # On the digits; they reach 0.97 to 0.99.
SMALL = ("--steps", 8, "--batch", 4, "--width", 16, "--length", 16)  # A short run of characters.py.


def free_port():
    """A port that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Examples(jobs.PythonTest):

    def example(self, script, *arguments, flags=(), workers=2):
        """The output of worker 0 of a successful job."""
        job = self.launch(sys.executable, EXAMPLES / script, *arguments, flags=flags,
                          workers=workers, servers=1)
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        self.assert_nobody_left()
        return job.lines_of("worker 0")

    def accuracy(self, lines):
        """The accuracy on the digits in the last line."""
        found = re.search(r"(?:test_accuracy=|Accuracy: )([0-9.]+)", lines[-1])
        self.assertIsNotNone(found, lines)
        return float(found[1])

    def test_the_program_of_the_readme(self):
        page = (cluster.SOURCE / "README.md").read_text(encoding="utf-8")
        program, = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "hello.py"
            path.write_text(program, encoding="utf-8")
            job = self.launch(sys.executable, path, workers=2, servers=1)
            self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        said = [job.lines_of(f"worker {rank}")[-1] for rank in (0, 1)]
        self.assertRegex(said[0], r"^worker 0 of 2: weight -?\d\.\d{6}$")
        self.assertEqual(said[1], said[0].replace("worker 0", "worker 1"))

    def test_digits_learns(self):
        for mode in ("sync", "eager"):
            with self.subTest(mode):
                lines = self.example("digits.py", "--mode", mode)
                self.assertGreaterEqual(self.accuracy(lines), LEAST_ACCURACY, lines)
                self.assertRegex(lines[-1], rf"^test_accuracy=\S+ seconds=\S+ workers=2 "
                                            rf"with=stretto mode={mode}$")

    def test_digits_from_record_files(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = self.example("digits.py", "--records", folder)
            self.assertGreaterEqual(self.accuracy(lines), LEAST_ACCURACY, lines)
            short = ("--epochs", "2", "--records", folder)
            plain, magnified = (self.example("digits.py", *short, "--magnify", magnify)
                                for magnify in ("1", "6"))
            self.assertEqual((plain[:2], self.accuracy(plain)),
                             (magnified[:2], self.accuracy(magnified)))

    def test_digits_is_the_same_with_all(self):
        """One seed, one result: two numbers have the same sum in every framework."""
        said = {}
        for way in (("--layerwise",), ("--with", "byteps"), ("--with", "ddp"),
                    ("--with", "ddp_stretto")):
            # With ddp no worker joins our scheduler; do not wait for it.
            flags = ("--drain", "0.1") if "ddp" in way else ()
            lines = self.example("digits.py", *way, "--epochs", "2", flags=flags)
            said[way] = lines[:2] + [self.accuracy(lines)]
        first, *others = said.values()
        self.assertTrue(all(other == first for other in others), said)

    def test_digits_in_the_modes_without_rounds(self):
        for mode in jobs.one_of("bounded", "async", "eager_async"):
            with self.subTest(mode):
                self.accuracy(self.example("digits.py", "--mode", mode, "--epochs", "2"))

    def test_characters(self):
        for way in jobs.some((), ("--mode", "eager"), ("--layerwise",)):
            with self.subTest(way):
                lines = self.example("characters.py", *SMALL, *way)
                self.assertRegex(lines[-1], r"^bits_per_character=\d\.\d+ seconds=")

    def test_resnet(self):
        lines = self.example("resnet.py", "--steps", "2", "--warm-up", "1", "--pixels", "32")
        self.assertRegex(lines[-1], r"^model=resnet18 workers=2 with=stretto mode=sync steps=2 "
                                    r"step_ms=[0-9.]+")

    def test_byteps_script(self):
        lines = self.example("byteps_digits.py", "--fp16-pushpull")
        self.assertGreaterEqual(self.accuracy(lines), LEAST_ACCURACY, lines)


class ByHand(jobs.PythonTest):

    def test_byteps_script_by_role(self):
        """Started as in BytePS's documents: DMLC_* variables, and bpslaunch for each role."""
        common = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": free_port(),
                  "DMLC_NUM_WORKER": 2, "DMLC_NUM_SERVER": 1}
        everybody = [self.start(role, ROLE, DMLC_ROLE=role, **common)
                     for role in ("scheduler", "server")]
        workers = [self.start(f"worker {rank}", [*ROLE, sys.executable,
                                                 EXAMPLES / "byteps_digits.py"],
                              DMLC_ROLE="worker", DMLC_WORKER_ID=rank, **common)
                   for rank in range(2)]
        for process in workers + everybody:
            self.assertEqual(process.end(jobs.TORCH_PATIENCE), 0, process.output())
        told = workers[0].expect(r"Accuracy: ([0-9.]+)")
        self.assertGreaterEqual(float(told[1]), LEAST_ACCURACY)
        self.assertEqual([line for line in workers[1].lines if "Accuracy" in line], [])
        self.assert_nobody_left()


class Alone(jobs.PythonTest):

    def assert_refused(self, script, words, *arguments):
        process = self.alone(EXAMPLES / script, *arguments)
        self.assertEqual(process.end(jobs.TORCH_PATIENCE), 1, process.output())
        self.assertIn(words, process.lines[-1])

    def test_without_a_launcher(self):
        process = self.alone(EXAMPLES / "digits.py", "--epochs", "1")
        self.assertEqual(process.end(jobs.TORCH_PATIENCE), 0, process.output())
        self.assertIn("workers=1 with=stretto", process.lines[-1])

    def test_what_cannot_be_run(self):
        with tempfile.TemporaryDirectory() as folder:
            short = pathlib.Path(folder) / "short"
            short.write_text("1,2,3\n", encoding="utf-8")
            self.assert_refused("characters.py", "cannot read the text", "--text", "/nowhere")
            self.assert_refused("characters.py", "there must be at least", "--text", short)
            self.assert_refused("digits.py", "short:1: wanted 64 pixels", "--data", short)
            self.assert_refused("digits.py", "are for --with stretto", "--with", "ddp",
                                "--mode", "eager")


if __name__ == "__main__":
    unittest.main()
