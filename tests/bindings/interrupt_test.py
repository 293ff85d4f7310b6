# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at a job of Python workers: each reports it in one line; the status is that of SIGINT."""

import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import jobs

EXCHANGE = """
import sys
from stretto import session
session.begin(lazy=False)
sys.stdout.write("begun\\n")
sys.stdout.flush()
while True:
    session.current().barrier()
"""
OWN_HOOK = """
import sys
sys.excepthook = lambda kind, error, trace: sys.stderr.write(f"mine: {kind.__name__}\\n")
""" + EXCHANGE
# The other worker never joins, so this one waits for the rendezvous; a handler prints that.
JOINING = """
import os, signal, sys, time
from stretto import session
def tell(_, frame):
    while frame is not None and frame.f_code.co_name != "begin":
        frame = frame.f_back
    if frame is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write("begun\\n")
        sys.stdout.flush()
if os.environ["STRETTO_RANK"] == "0":
    signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)
    session.begin(lazy=False)
sys.excepthook = lambda *_: sys.stderr.write("KeyboardInterrupt in <string>:0\\n")
sys.stdout.write("begun\\n")
sys.stdout.flush()
time.sleep(100)
"""
# Rank 1 reaches the barrier after the handler of rank 0, which waits there, has run.
HANDLED = """
import os, pathlib, signal, sys, time
from stretto import session
session.begin(lazy=False)
threads = lambda: len(os.listdir("/proc/self/task"))
heard = pathlib.Path(sys.argv[1])
if session.current().rank == 0:
    before = threads()
    signal.signal(signal.SIGALRM, lambda *_: heard.write_text(f"{threads() - before}"))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
else:
    while not heard.exists() or not heard.read_text():
        time.sleep(0.01)
session.current().barrier()
session.end()
print("done")
"""
# Rank 1 makes its third step after the handler of rank 0, which waits for that step, has run.
STEPS = """
import pathlib, signal, sys, time
import torch
import stretto.torch as st
st.init()
heard = pathlib.Path(sys.argv[1])
weight = torch.nn.Parameter(torch.zeros(3))
optimizer = st.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), [("weight", weight)],
                                    mode=sys.argv[2])
for step in range(9):
    if step == 2 and st.rank() == 0:
        signal.signal(signal.SIGALRM, lambda *_: heard.touch())
        signal.setitimer(signal.ITIMER_REAL, 0.5)
    while step == 2 and st.rank() == 1 and not heard.exists():
        time.sleep(0.01)
    optimizer.zero_grad()
    weight.sum().backward()
    optimizer.step()
print("done")
"""
# The same in mode sync; the handler tries to make a step, and is called again until a step waits.
STEP_IN_HANDLER = """
import pathlib, signal, sys, time
import torch
import stretto.torch as st
st.init()
heard = pathlib.Path(sys.argv[1])
weight = torch.nn.Parameter(torch.zeros(3))
optimizer = st.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), [("weight", weight)])
def refused(error, call):
    try:
        call()
    except error:
        return
    print("not refused", call, flush=True)
def step_in_handler(_, frame):
    while frame is not None and frame.f_code.co_name != "_receive":
        frame = frame.f_back
    if frame is None:
        return
    signal.setitimer(signal.ITIMER_REAL, 0)
    heard.touch()
    if sys.argv[2] == "step":
        optimizer.step()
    if sys.argv[2] == "backward":
        weight.sum().backward()
    refused(AssertionError, optimizer.zero_grad)
    refused(st.errors.InvalidArgument, optimizer.step)
    refused(st.errors.InvalidArgument, optimizer.synchronize)
for step in range(4):
    if step == 2 and st.rank() == 0:
        signal.signal(signal.SIGALRM, step_in_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    while step == 2 and st.rank() == 1 and not heard.exists():
        time.sleep(0.01)
    optimizer.zero_grad()
    ((st.rank() + 1) * weight).sum().backward()
    try:
        optimizer.step()
    except st.errors.InvalidArgument:
        try:
            optimizer.synchronize()
        except st.errors.Cancelled as error:
            print("refused", "ended by InvalidArgument" in str(error), flush=True)
        sys.exit()
assert weight.tolist() == [-6.0] * 3, weight
print("done")
"""
# Searching for records in these zeros takes hours.
OPENING = """
import os, signal, sys
from stretto import input as data
class Heard(Exception): pass
def hear(*_): raise Heard
open(sys.argv[1], "w").close()
os.truncate(sys.argv[1], 2**40)
signal.signal(signal.SIGALRM, hear)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    data.Reader(sys.argv[1], format="tfrecord")
except Heard:
    print("heard")
"""
# Ends by an error; an exit callback stops a thread that reads files.
STOPPING_AT_EXIT = """
import atexit, sys, threading
from stretto import input as data, session
stopped, has_read = threading.Event(), threading.Event()
def read():
    while not stopped.is_set():
        assert len(list(data.Reader(sys.argv[1], format="files"))) == 1
        has_read.set()
reads = threading.Thread(target=read, daemon=True)
def stop():
    stopped.set()
    reads.join()
    print("stopped", flush=True)
atexit.register(stop)
session.begin()
reads.start()
has_read.wait()
raise KeyError
"""
# Prints at exit how the program ends: by an uncaught exception, or normally.
ENDING = """
import atexit, code, sys
from stretto import interrupts
atexit.register(lambda: print("by error" if interrupts.ends_by_error() else "well"))
"""
ENDINGS = {
    "raise KeyError": "by error",
    "def fails(): raise KeyError\nfails()": "by error",
    "sys.exit(3)": "well",
    "code.InteractiveInterpreter().runsource('1 / 0')": "well",
    # Test runners and coroutine shells handle an exception and store the traceback in `sys`. The
    # program then ends normally.
    "def run():\n"
    "    try: 1 / 0\n"
    "    except ArithmeticError: sys.last_type, _, sys.last_traceback = sys.exc_info()\n"
    "run()": "well",
    "async def run():\n"
    "    try: 1 / 0\n"
    "    except ArithmeticError: sys.last_type, _, sys.last_traceback = sys.exc_info()\n"
    "try: run().send(None)\n"
    "except StopIteration: pass": "well",
    "sys.ps1 = '> '\nraise KeyError": "well",
}


class Alone(jobs.PythonTest):
    """Programs without a job."""

    def run_alone(self, *arguments):
        """The output of the program."""
        done = subprocess.run([sys.executable, "-c", *arguments], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.stdout.strip() or done.stderr

    def test_handler_interrupts_reader_that_opens(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_alone(OPENING, f"{folder}/zeros"), "heard")

    def test_program_that_handled_error_ends_well(self):
        for program, ending in ENDINGS.items():
            with self.subTest(program):
                self.assertEqual(self.run_alone(ENDING + program), ending)


class Interrupt(jobs.PythonTest):

    def interrupted(self, program):
        """The output of each worker of a job after Ctrl-C."""
        job = self.launch(sys.executable, "-c", program, workers=2, servers=1)
        job.expect("begun", count=2)
        job.send(signal.SIGINT)
        self.assertEqual(job.end(), 128 + signal.SIGINT, job.output())
        self.assert_nobody_left()
        self.assertNotIn("Traceback", job.output())
        return [job.lines_of(f"worker {rank}") for rank in range(2)]

    def test_each_worker_tells_one_line(self):
        for lines in self.interrupted(EXCHANGE):
            self.assertEqual(len(lines), 2, lines)
            self.assertRegex(lines[1], r"^KeyboardInterrupt in <string>:[5678]$")

    def test_callback_stops_thread_after_error(self):
        with tempfile.NamedTemporaryFile("w") as lines:
            lines.write("line\n")
            lines.flush()
            job = self.launch(sys.executable, "-c", STOPPING_AT_EXIT, lines.name, workers=1,
                              servers=1)
            self.assertEqual(job.end(), 1, job.output())
            self.assertIn("stopped", job.lines_of("worker 0"))

    def test_a_worker_that_joins_hears_it_too(self):
        for lines in self.interrupted(JOINING):
            self.assertEqual(len(lines), 2, lines)
            self.assertRegex(lines[1], r"^KeyboardInterrupt in <string>:")

    def test_a_handler_runs_in_a_barrier_which_adds_no_thread_and_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            heard = pathlib.Path(folder) / "heard"
            job = self.launch(sys.executable, "-c", HANDLED, heard, workers=2, servers=1)
            self.assert_done(job)
            self.assertEqual(heard.read_text(), "0")

    def test_handler_runs_in_step_that_waits(self):
        for mode in jobs.one_of("eager", "bounded"):
            with self.subTest(mode), tempfile.TemporaryDirectory() as folder:
                job = self.launch(sys.executable, "-c", STEPS, pathlib.Path(folder) / "heard", mode,
                                  workers=2, servers=1)
                self.assert_done(job)

    def test_step_in_handler_of_waiting_step_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            job = self.launch(sys.executable, "-c", STEP_IN_HANDLER, f"{folder}/heard", "catches",
                              workers=2, servers=1)
            self.assert_done(job)
            self.assertNotIn("not refused", job.output())

    def test_refused_step_ends_waiting_step_for_good(self):
        for call in jobs.one_of("step", "backward"):
            with self.subTest(call), tempfile.TemporaryDirectory() as folder:
                job = self.launch(sys.executable, "-c", STEP_IN_HANDLER, f"{folder}/heard", call,
                                  workers=2, servers=1)
                job.expect("refused True", jobs.TORCH_PATIENCE)

    def test_a_hook_of_the_program_stays(self):
        for lines in self.interrupted(OWN_HOOK):
            self.assertEqual(lines, ["begun", "mine: KeyboardInterrupt"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
