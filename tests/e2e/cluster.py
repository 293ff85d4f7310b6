# SPDX-License-Identifier: Apache-2.0
"""Jobs of real processes for the tests in this folder: started through the launcher or one by one,
with their output by line, waits with deadlines, and a check that no process is left running. No
code here sleeps: a wait ends with its event, or fails with all output.
"""

import contextlib
import os
import pathlib
import re
import resource
import select
import signal
import subprocess
import threading
import time
import unittest
import uuid

BIN = pathlib.Path(os.environ["STRETTO_BIN_DIR"])
BUILD = pathlib.Path(os.environ["STRETTO_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["STRETTO_SOURCE_DIR"])
LAUNCH = BIN / "stretto-launch"
SCHEDULER = BIN / "stretto-scheduler"
SERVER = BIN / "stretto-server"
TRAINING = BUILD / "tests" / "training"

PATIENCE = 60.0  # Seconds for short operations, on the busiest machine.
LONGEST_NAME = 15  # Of a thread.
MARK = "MARK_OF_STRETTO_TEST"  # The variable that every process of a test inherits.
_STRETTO_NAMES = re.compile(r"(STRETTO|DMLC|BYTEPS)_|(RANK|WORLD_SIZE)$")
_ERROR = re.compile(r"ERROR (?P<code>\w+) role=(?P<role>\S+) rank=(?P<rank>\S+) peer=(?P<peer>.*?) "
                    r"op=(?P<op>.*?) cause=(?P<cause>.*)")
_WRONG_WORDS = re.compile(r"ERROR (?P<code>\w+): (?P<cause>.*) \(role=(?P<role>\S+) "
                          r"rank=(?P<rank>\S+) peer=(?P<peer>\S+) op=(?P<op>arguments)\)")


def exit_of_loss(name):
    """The status of a process that ends because of another; workers choose their own."""
    return 1 if name.startswith("worker") else 69


class Error:
    """One line `ERROR <code> role= rank= peer= op= cause=`, in parts. For a wrong command line the
    sentence comes first: `ERROR <code>: <cause> (role= rank= peer= op=arguments)`."""

    def __init__(self, match):
        self.text = match.group(0)
        self.code = match["code"]
        self.role = match["role"]
        self.rank = match["rank"]
        self.peer = match["peer"]
        self.operation = match["op"]
        self.cause = match["cause"]

    @property
    def who(self):
        """The member that reports: "worker 1"."""
        return f"{self.role} {self.rank}"


def errors_in(lines, prefix=""):
    """The ERROR lines among `lines` that have exactly this prefix before the word ERROR."""
    texts = [line[len(prefix):] for line in lines if line.startswith(prefix)]
    found = [_ERROR.fullmatch(text) or _WRONG_WORDS.fullmatch(text) for text in texts]
    return [Error(match) for match in found if match]


class Process:
    """A process with its output by line. Callers can wait for lines and for its end."""

    def __init__(self, name, command, environment, open_files=None):
        self.name = name
        self.lines = []
        self.times = []  # Arrival times, by time.monotonic().
        self.ended_at = None  # By time.monotonic().
        self._changed = threading.Condition()
        limit = None
        if open_files is not None:
            limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
        self._child = subprocess.Popen([str(word) for word in command], env=environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, errors="replace",
                                       preexec_fn=limit)
        self.pid = self._child.pid
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._reap)]
        for thread in self._threads:
            thread.start()

    def _read(self):
        for line in self._child.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self.times.append(time.monotonic())
                self._changed.notify_all()

    def _reap(self):
        self._child.wait()
        with self._changed:
            self.ended_at = time.monotonic()
            self._changed.notify_all()

    def output(self):
        """All its output, for messages."""
        with self._changed:
            return f"--- {self.name} ---\n" + "\n".join(self.lines)

    def running(self):
        return self.ended_at is None

    def expect(self, pattern, seconds=PATIENCE, count=1, since=0):
        """Waits for `count` lines that contain `pattern`, of those from number `since` on; returns
        the last one's match."""
        wanted = re.compile(pattern)

        def found():
            matches = [match for match in map(wanted.search, self.lines[since:]) if match]
            return matches[count - 1] if len(matches) >= count else None

        with self._changed:
            self._changed.wait_for(lambda: found() or self.ended_at is not None, seconds)
        if self.ended_at is not None:
            self._threads[0].join(PATIENCE)  # The last lines may still be in the pipe.
        match = found()
        if match is None:
            state = "is running" if self.running() else f"ended with {self._child.returncode}"
            raise AssertionError(f"no '{pattern}' within {seconds} s; {self.name} {state}\n"
                                 + self.output())
        return match

    def end(self, seconds=PATIENCE):
        """Waits for its end; returns the exit status, 128 + number if it was a signal."""
        with self._changed:
            ended = self._changed.wait_for(lambda: self.ended_at is not None, seconds)
        if not ended:
            raise AssertionError(f"{self.name} is still running after {seconds} s\n"
                                 + self.output())
        self._threads[0].join(PATIENCE)
        status = self._child.returncode
        return status if status >= 0 else 128 - status

    def errors(self):
        """Its ERROR lines; of a launcher, only its own and not forwarded ones."""
        return errors_in(self.lines)

    def send(self, number):
        self._child.send_signal(number)

    def destroy(self):
        """Kills the process unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self._child.send_signal(signal.SIGCONT)
            self._child.kill()
        for thread in self._threads:
            thread.join(PATIENCE)
        self._child.stdout.close()


class Launched(Process):
    """A job under stretto-launch."""

    def errors_of(self, member):
        """The ERROR lines of one member, such as "worker 1" or "scheduler"."""
        return errors_in(self.lines, f"[{member}] ")

    def lines_of(self, member):
        prefix = f"[{member}] "
        return [line[len(prefix):] for line in self.lines if line.startswith(prefix)]

    def scheduler_address(self):
        return address_of(self)

    def member(self, name):
        """The process id of "worker 1", "server 0" or "scheduler"."""
        role, _, rank = name.partition(" ")
        for pid in children_of(self.pid):
            variables = variables_of(pid)
            if variables.get("STRETTO_ROLE") == role and \
                    variables.get("STRETTO_RANK") == (rank or "0"):
                return pid
        raise AssertionError(f"there is no {name} under {self.name}\n" + self.output())

    def members(self):
        """Name to process id of all members."""
        found = {}
        for pid in children_of(self.pid):
            variables = variables_of(pid)
            role, rank = variables.get("STRETTO_ROLE"), variables.get("STRETTO_RANK")
            if role is not None:
                found[role if role == "scheduler" else f"{role} {rank}"] = pid
        return found


def address_of(process):
    """The (host, port) at which a scheduler says it listens."""
    match = process.expect(r"listening at (\S+):(\d+)")
    return match.group(1), int(match.group(2))


def children_of(pid):
    """Process ids of direct children, by any thread."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in task.read_text(encoding="ascii").split()]
    return found


_EFFECTS = {signal.SIGKILL: "ZX", signal.SIGABRT: "ZX", signal.SIGSTOP: "TtZX"}


def state_of(pid):
    """The letter of proc(5); "X" if the process is gone."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2][1]
    return "X"


def kill(pids):
    """Kills those of these processes that still run: some end with others."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_until_blocked(pid):
    """Returns once the main thread of the process sleeps, as in a call that waits for others."""
    until = time.monotonic() + PATIENCE
    while state_of(pid) != "S":
        if time.monotonic() > until:
            raise AssertionError(f"process {pid} has state {state_of(pid)}, not S (sleeps)")
        threading.Event().wait(0.001)


def strike(pids, number):
    """Sends the signal to all of these processes, then waits until each has ended or is stopped: a
    fault without an effect tests nothing. A process that handles SIGTERM may continue."""
    for pid in pids:
        os.kill(pid, number)
    until = time.monotonic() + PATIENCE
    for pid in pids:
        while number in _EFFECTS and state_of(pid) not in _EFFECTS[number]:
            if time.monotonic() > until:
                raise AssertionError(f"signal {number} had no effect on process {pid}")
            threading.Event().wait(0.001)


def variables_of(pid):
    """The environment at the start of a process; empty if it is gone."""
    with contextlib.suppress(OSError):
        entries = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        pairs = [entry.decode(errors="replace").partition("=") for entry in entries]
        return {name: value for name, _, value in pairs}
    return {}


def name_of(pid):
    """The name of its main thread; empty if it is gone."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").rstrip("\n")
    return ""


def resident_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    if found is None:  # It has ended, but its parent has not reaped it yet.
        raise ProcessLookupError(f"process {pid} has no memory any more")
    return int(found.group(1)) * 1024


def mapped_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmSize:\s+(\d+) kB", status).group(1)) * 1024


def listening_ports(pid):
    """TCP ports that a process listens at, by the kernel's tables."""
    return _ports(pid, "0A")


def connected_ports(pid):
    """A process's own TCP ports of its connections."""
    return _ports(pid, "01")


def _ports(pid, state):
    inodes = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry))
            if match:
                inodes.add(match.group(1))
    ports = []
    for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if fields[3] == state and fields[9] in inodes:
            ports.append(int(fields[1].split(":")[1], 16))
    return ports


class Watch:
    """Records the ends of processes that are not our children. Some may have ended before."""

    def __init__(self, pids):
        self._descriptors = {}
        self._ended = {}
        for name, pid in pids.items():
            try:
                self._descriptors[name] = os.pidfd_open(pid)
            except ProcessLookupError:
                self._ended[name] = time.monotonic()

    def ends(self, seconds):
        """Name to end time; running processes are absent."""
        deadline = time.monotonic() + seconds
        poll = select.poll()
        names = {descriptor: name for name, descriptor in self._descriptors.items()}
        for descriptor in names:
            poll.register(descriptor, select.POLLIN)
        ended = dict(self._ended)
        while len(ended) < len(names) + len(self._ended) and time.monotonic() < deadline:
            for descriptor, _ in poll.poll(max(0, deadline - time.monotonic()) * 1000):
                ended[names[descriptor]] = time.monotonic()
                poll.unregister(descriptor)
        return ended

    def close(self):
        for descriptor in self._descriptors.values():
            os.close(descriptor)


class ClusterTest(unittest.TestCase):
    """A test that starts processes. Afterwards, whatever its outcome, none of them is left."""

    def setUp(self):
        self.mark = uuid.uuid4().hex
        self.processes = []
        self.addCleanup(self._destroy_all)

    def _destroy_all(self):
        for process in self.processes:
            process.destroy()
        kill(self.survivors())

    def survivors(self):
        """Process ids of all running processes that this test has started."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            is_named = name_of(entry.name) == self.mark[:LONGEST_NAME]  # A fork of an interpreter.
            if is_named or variables_of(entry.name).get(MARK) == self.mark:
                found.append(int(entry.name))
        return found

    def kill_all(self, job):
        """Like a power failure, except for kernel buffers."""
        pids = job.members()
        kill((job.pid, *pids.values()))
        job.end()
        kill(self.survivors())

    def assert_nobody_left(self):
        left = {pid: variables_of(pid).get("STRETTO_ROLE") for pid in self.survivors()}
        self.assertEqual(left, {}, "processes outlived their job")

    def environment(self, **variables):
        """This process's environment without variables of jobs, and with `variables`."""
        kept = {name: value for name, value in os.environ.items()
                if not _STRETTO_NAMES.match(name)}
        kept[MARK] = self.mark
        return kept | {name: str(value) for name, value in variables.items()}

    def start(self, name, command, open_files=None, **variables):
        process = Process(name, command, self.environment(**variables), open_files)
        self.processes.append(process)
        return process

    def launch(self, *program, workers=2, servers=2, flags=(), **variables):
        """Starts a job; `program` is the worker's command."""
        command = [LAUNCH, "--workers", workers, "--servers", servers, *flags, "--", *program]
        job = Launched("job", command, self.environment(**variables))
        self.processes.append(job)
        return job

    def train(self, *flags, launcher=(), **options):
        """Starts a job of the training program."""
        return self.launch(TRAINING, *flags, flags=launcher, **options)

    def assert_success(self, job, workers=2, seconds=PATIENCE):
        """The job succeeds: status 0, each worker has verified all, no process is left."""
        self.assertEqual(job.end(seconds), 0, job.output())
        verified = [line for line in job.lines if re.search(r"verified values=\d+ wrong=0 ", line)]
        self.assertEqual(len(verified), workers, job.output())
        self.assertEqual(job.errors(), [], job.output())
        self.assert_nobody_left()

    def one_error(self, process, code, *words):
        """The process's only ERROR line, which has this code and names these words."""
        errors = process.errors()
        self.assertEqual(len(errors), 1, process.output())
        self.assert_error(errors[0], code, *words)
        return errors[0]

    def assert_error(self, error, code, *words):
        self.assertEqual(error.code, code, error.text)
        for word in words:
            self.assertIn(str(word), error.text)


class ByHand:
    """A job whose processes are started one by one, as by a cluster manager."""

    def __init__(self, test, workers=2, servers=2, **variables):
        self.test = test
        self.variables = {"STRETTO_WORLD_SIZE": workers, "STRETTO_SERVERS": servers} | variables
        self.everybody = {}
        self.scheduler = self._start("scheduler", [SCHEDULER], STRETTO_SCHEDULER="127.0.0.1:0")
        host, port = address_of(self.scheduler)
        self.address = f"{host}:{port}"

    def _start(self, name, command, **variables):
        process = self.test.start(name, command, **(self.variables | variables))
        self.everybody[name] = process
        return process

    def server(self, rank=None, **variables):
        if rank is not None:
            variables = {"STRETTO_RANK": rank} | variables
        name = f"server {len(self.everybody) if rank is None else rank}"
        return self._start(name, [SERVER], **({"STRETTO_SCHEDULER": self.address} | variables))

    def worker(self, rank=None, flags=(), **variables):
        if rank is not None:
            variables = {"STRETTO_RANK": rank} | variables
        name = f"worker {len(self.everybody) if rank is None else rank}"
        return self._start(name, [TRAINING, *flags],
                           **({"STRETTO_SCHEDULER": self.address} | variables))
