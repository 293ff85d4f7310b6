# SPDX-License-Identifier: Apache-2.0
"""Signals to bpslaunch, from a terminal and from other processes: each worker gets each once, and
no worker is left behind."""

import os
import pty
import signal
import sys
import unittest

import jobs

LAUNCH = [sys.executable, "-m", "stretto.bpslaunch"]
PLACE = {"DMLC_ROLE": "worker", "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": "1",
         "DMLC_NUM_WORKER": "1", "DMLC_NUM_SERVER": "1", "DMLC_WORKER_ID": "0"}
# Counts what comes until SIGTERM, which is a number above that of SIGINT: of both, SIGINT is first.
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


class Bpslaunch(jobs.PythonTest):

    def in_terminal(self):
        """bpslaunch in a terminal of its own: what reads its lines, and the terminal."""
        process, terminal = pty.fork()
        if process == 0:
            os.execvpe(LAUNCH[0], [*LAUNCH, sys.executable, "-c", COUNTING], os.environ | PLACE)
        self.addCleanup(os.waitpid, process, 0)
        self.addCleanup(os.kill, process, signal.SIGKILL)
        lines = os.fdopen(os.dup(terminal), "r", encoding="utf-8")
        self.addCleanup(lines.close)
        self.addCleanup(os.close, terminal)
        return process, terminal, lines

    def test_worker_hears_key_of_terminal_once(self):
        process, terminal, lines = self.in_terminal()
        while not lines.readline().startswith("ready"):
            pass
        os.write(terminal, b"\x03")
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


if __name__ == "__main__":
    unittest.main()
