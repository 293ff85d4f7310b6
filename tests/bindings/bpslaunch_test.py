# SPDX-License-Identifier: Apache-2.0
"""Signals to bpslaunch, from a terminal and from other processes: each worker gets each signal
once, and no worker is left behind."""

import os
import pathlib
import pty
import signal
import sys
import tempfile
import threading
import unittest

import jobs

LAUNCH = [sys.executable, "-m", "stretto.bpslaunch"]
PLACE = {"DMLC_ROLE": "worker", "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": "1",
         "DMLC_NUM_WORKER": "1", "DMLC_NUM_SERVER": "1", "DMLC_WORKER_ID": "0"}
# Counts signals until SIGTERM. SIGINT has the lower number, so it is delivered before SIGTERM.
COUNTING = """
import os, signal
signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", os.getppid(), flush=True)
heard = []
while signal.SIGTERM not in heard:
    heard.append(signal.sigwait(signals))
print("heard", *(signal.Signals(number).name for number in heard), flush=True)
"""
# Its standard output may be a closed terminal.
LISTENING = """
import pathlib, signal, sys
signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
pathlib.Path(sys.argv[1]).write_text(signal.Signals(signal.sigwait(signals)).name)
"""
GROUP_OF_ITS_OWN = "import os\nos.setpgid(0, 0)\n"
# Leaves an orphan behind, and ends after the orphan is gone.
ORPHANING = """
import os, pathlib, time
reads, writes = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.write(writes, b"%d" % os.getpid())
    os._exit(0)
orphan = pathlib.Path("/proc", os.read(reads, 20).decode())
os.wait()
while orphan.exists():
    time.sleep(0.01)
"""
# Adopts orphans, like process 1 of a container: PR_SET_CHILD_SUBREAPER.
ADOPTING = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Bpslaunch(jobs.PythonTest):

    def in_terminal(self, *program):
        """Starts bpslaunch in its own terminal, and waits until its worker is ready. Returns its
        process, the reader of its lines, and the terminal."""
        process, descriptor = pty.fork()
        if process == 0:
            os.execvpe(LAUNCH[0], [*LAUNCH, sys.executable, "-c", *program],
                        self.environment(**PLACE))
        self.addCleanup(os.waitpid, process, 0)
        self.addCleanup(os.kill, process, signal.SIGKILL)
        lines = os.fdopen(os.dup(descriptor), "r", encoding="utf-8")
        self.addCleanup(lines.close)
        terminal = os.fdopen(descriptor, "wb", buffering=0)
        self.addCleanup(terminal.close)
        while not lines.readline().startswith("ready"):
            pass
        return process, terminal, lines

    def name_in(self, path):
        """The text that a worker writes into the file within some seconds."""
        for _ in range(1000):
            if path.exists() and path.read_text():
                return path.read_text()
            threading.Event().wait(0.01)
        return "nothing"

    def test_worker_hears_that_terminal_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            heard = pathlib.Path(folder) / "heard"
            _, terminal, lines = self.in_terminal(LISTENING, heard)
            lines.close()
            terminal.close()
            self.assertEqual(self.name_in(heard), "SIGHUP")

    def test_worker_of_other_group_hears_key(self):
        with tempfile.TemporaryDirectory() as folder:
            heard = pathlib.Path(folder) / "heard"
            _, terminal, _ = self.in_terminal(GROUP_OF_ITS_OWN + LISTENING, heard)
            terminal.write(b"\x03")
            self.assertEqual(self.name_in(heard), "SIGINT")

    def test_worker_hears_key_of_terminal_once(self):
        process, terminal, lines = self.in_terminal(COUNTING)
        terminal.write(b"\x03")
        os.kill(process, signal.SIGTERM)
        told = lines.readline()
        while "heard" not in told:
            told = lines.readline()
        self.assertEqual(told[told.index("heard"):].split(), ["heard", "SIGINT", "SIGTERM"])

    def test_worker_hears_signal_to_launcher(self):
        process = self.start("bpslaunch", [*LAUNCH, sys.executable, "-c", COUNTING], **PLACE)
        process.expect("^ready")
        process.send(signal.SIGINT)
        process.send(signal.SIGTERM)
        self.assertEqual(process.end(), 0, process.output())
        process.expect("^heard SIGINT SIGTERM$")

    def test_early_signal_leaves_no_worker(self):
        process = self.start("bpslaunch", [*LAUNCH, "sleep", "1000"], **PLACE)
        process.expect("^BytePS launching worker")
        process.send(signal.SIGTERM)
        self.assertEqual(process.end(), 128 + signal.SIGTERM, process.output())
        process.expect("local rank 0 exited with status 143")  # SIGTERM ended it.
        self.assert_nobody_left()

    def test_orphans_of_workers_are_reaped(self):
        process = self.start("bpslaunch", [sys.executable, "-c", ADOPTING, *LAUNCH, sys.executable,
                                           "-c", ORPHANING], **PLACE)
        self.assertEqual(process.end(), 0, process.output())


if __name__ == "__main__":
    unittest.main()
