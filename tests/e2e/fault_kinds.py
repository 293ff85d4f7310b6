# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos kinds`: one fault a job, of any kind, at default settings. By
docs/RELIABILITY.md each kind has one of three outcomes: the job continues with correct sums; it
ends and its last line names the failed member; or either. After each job no process is left, and no
file in its runtime folder.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import threading
import time

import cluster
import host_faults
import hosts
import lab
import losses_test
import mixtures

PATIENCE = 90.0  # Seconds from a fault until each worker has taken two more steps.
END = 60.0  # Seconds from a fault until the job has ended.
LOST = (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)
PAUSES = (1.5, 4.5)  # Below STRETTO_DEAD_AFTER_S, which is 5 s: no member is lost.
LONG_PAUSES = (6.5, 14.0)
WRONG = re.compile(r"WRONG|wrong:")
ERROR = re.compile(r"ERROR \w+ ")
ALL_CAME = "all members have come again, or are lost"
TOLD = "killed by|is lost|was lost|the job goes on without|started in its place"


class Among(mixtures.Elastic):
    """An elastic job that exchanges among its workers."""

    def begin(self, test, **variables):
        return test.launch(losses_test.LOSING, "--until", f"{test.folder}/stop", "--exchange",
                           test.dice.choice(("tree", "ring", "direct")), workers="1:3", servers=2,
                           flags=("--restarts", 20), **variables)

    victims = ("scheduler", "worker 0", "worker 1", "worker 2")


class Plain(mixtures.Sums):
    """A job of fixed size without --restarts: the loss of any member ends it."""

    victims = ("scheduler", "server 0", "server 1", "worker 0", "worker 1")

    def begin(self, test, **variables):
        return test.launch(mixtures.RETURNING, "--steps", 10**9, "--say_every", 5, workers=2,
                           servers=2, **variables)


SURVIVING = {**mixtures.KINDS, "among": Among}


class Trial(cluster.ClusterTest):
    """One job and its fault."""

    def runTest(self):
        """Not run as a test."""

    def begin(self, kind):
        """Starts a job, and returns once all of its workers take steps."""
        self.start(kind)
        for worker in kind.workers(()):
            self.job.expect(rf"\[{worker}\] {kind.lines}", PATIENCE, count=2)
        self.members = self.job.members()

    def start(self, kind):
        self.kind = kind
        self.note(type(kind).__name__)
        self.job = kind.begin(self, STRETTO_TRANSPORT=self.dice.choice(("auto", "tcp")),
                              STRETTO_RUNTIME_DIR=self.runtime)

    def launch(self, *program, workers=2, servers=2, flags=(), **variables):
        command = [*self.before_launcher, cluster.LAUNCH, "--workers", workers, "--servers",
                   servers, *flags, "--", *self.before_program, *program]
        job = cluster.Launched("job", command, self.environment(**variables))
        self.processes.append(job)
        return job

    def any_kind(self):
        return SURVIVING[self.dice.choice(sorted(SURVIVING))]()

    def any_job(self):
        self.begin(self.any_kind())

    def victim(self):
        return self.dice.choice(self.kind.victims)

    def strike(self, number, *victims):
        self.struck = len(self.job.lines)
        self.note(number.name, *victims)
        cluster.strike([self.members[victim] for victim in victims], number)

    def note(self, *words):
        self.faults.append(" ".join(str(word) for word in words))

    def wait(self, seconds):
        threading.Event().wait(seconds)

    # ---- outcomes

    def goes_on(self, *lost, is_told=True):
        """The launcher or the scheduler reports each lost member, then each remaining worker takes
        two more steps. Then the test ends the job."""
        for member in lost if is_told else ():
            told = ALL_CAME if member == "scheduler" else rf"\b{member}\b.*({TOLD})"
            self.job.expect(told, PATIENCE, since=self.struck)
        since = len(self.job.lines)
        for worker in self.kind.workers(lost):
            self.job.expect(rf"\[{worker}\] {self.kind.lines}", PATIENCE, count=2, since=since)
        os.kill(self.job.pid, signal.SIGTERM)
        self.job.end(END)
        self.leaves_nothing()

    def ends(self, *names):
        """The job ends, and its last line names one of these members."""
        self.job.end(END)
        last = self.last_line()
        if names and not any(self.named(name, last) for name in names):
            raise AssertionError(f"the last line names none of {names}: {last}\n"
                                 + self.job.output())
        self.leaves_nothing()

    def ends_or_goes_on(self, *names):
        """Waits until the job has made steps or has ended."""
        since, until = len(self.job.lines), time.monotonic() + PATIENCE
        while self.job.running() and time.monotonic() < until:
            with contextlib.suppress(AssertionError):
                for worker in self.kind.workers(names):
                    self.job.expect(rf"\[{worker}\] {self.kind.lines}", 2.0, count=2, since=since)
                break
        if self.job.running():
            self.goes_on(*names, is_told=False)
        else:
            self.ends(*names)

    def last_line(self):
        lines = [line for line in self.job.lines if line]
        return lines[-1] if lines else ""

    @staticmethod
    def named(name, line):
        role, _, rank = name.partition(" ")
        return name in line or f"role={role} rank={rank or '0'} " in line

    def leaves_nothing(self):
        wrong = [line for line in self.job.lines if WRONG.search(line)]
        if wrong:
            raise AssertionError(f"{wrong[0]}\n{self.job.output()}")
        left = hosts.await_gone(self.survivors(), 10.0)
        if left:
            names = {pid: cluster.name_of(pid) for pid in left}
            raise AssertionError(f"left behind: {names}\n{self.job.output()}")
        until = time.monotonic() + 10.0  # A process beside a killed launcher removes its files.
        while (files := self.files()) and time.monotonic() < until:
            self.wait(0.01)
        if files:
            raise AssertionError(f"left behind: {files}\n{self.job.output()}")

    def files(self):
        """Unexpected files in the runtime folder."""
        return [str(path) for path in pathlib.Path(self.runtime).rglob("*")
                if path.name not in self.expected_files]

    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.runtime = self.enterContext(tempfile.TemporaryDirectory(prefix="stretto-rt-"))
        os.chmod(self.runtime, 0o700)
        self.faults, self.expected_files = [], ()
        self.before_launcher, self.before_program = (), ()
        self.job = self.kind = None
        self.struck = 0

    # ---- kinds: members

    def kill(self):
        """Kills any member of a job that survives the loss."""
        self.any_job()
        victim = self.victim()
        self.strike(self.dice.choice(LOST), victim)
        self.goes_on(victim)

    def kill_two(self):
        self.any_job()
        while True:
            pair = [self.victim(), self.victim()]
            if self.kind.apart(*pair):
                break
        self.strike(self.dice.choice(LOST), *pair)
        self.goes_on(*pair)

    def stop(self):
        self.any_job()
        victim = self.victim()
        self.strike(signal.SIGSTOP, victim)
        self.goes_on(victim)

    def pause(self):
        """Pauses a member so briefly that it is not lost."""
        self.any_job()
        victim = self.victim()
        self.strike(signal.SIGSTOP, victim)
        self.wait(self.dice.uniform(*PAUSES))
        os.kill(self.members[victim], signal.SIGCONT)
        self.goes_on()

    def long_pause(self):
        """The member is lost, and wakes after that."""
        self.any_job()
        victim = self.victim()
        self.strike(signal.SIGSTOP, victim)
        self.wait(self.dice.uniform(*LONG_PAUSES))
        with contextlib.suppress(ProcessLookupError):  # The launcher may have ended it.
            os.kill(self.members[victim], signal.SIGCONT)
        self.goes_on(victim)

    def slow(self):
        """A member gets a hundredth of a processor for some seconds."""
        self.any_job()
        victim = self.victim()
        self.note("slow", victim)
        until = time.monotonic() + self.dice.uniform(5.0, 12.0)
        pid = self.members[victim]
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < until:
                os.kill(pid, signal.SIGSTOP)
                self.wait(0.099)
                os.kill(pid, signal.SIGCONT)
                self.wait(0.001)
        self.goes_on(victim, is_told=False)

    def term(self):
        """SIGTERM to a server moves its parts, to an elastic worker lets it leave."""
        self.any_job()
        victim = self.victim()
        self.strike(signal.SIGTERM, victim)
        if victim == "scheduler":
            self.ends("scheduler")
        else:
            if hosts.await_gone([self.members[victim]], PATIENCE):
                raise AssertionError(f"SIGTERM does not end {victim}\n{self.job.output()}")
            self.goes_on(victim, is_told=False)

    def kill_in_start(self):
        """A member is killed while the job starts."""
        self.start(self.any_kind())
        victim = self.victim()
        until, delay = time.monotonic() + END, self.dice.uniform(0.0, 0.3)
        while victim not in (members := self.job.members()) and time.monotonic() < until:
            self.wait(0.001)
        self.wait(delay)
        self.members = members
        self.strike(signal.SIGKILL, victim)
        self.ends_or_goes_on(victim)

    # ---- kinds: jobs without --restarts

    def plain_kill(self):
        self.begin(Plain())
        victim = self.victim()
        self.strike(self.dice.choice(LOST), victim)
        self.ends(victim)

    def plain_stop(self):
        self.begin(Plain())
        victim = self.victim()
        self.strike(signal.SIGSTOP, victim)
        self.ends(victim)

    # ---- kinds: programs

    def exits_after_leaving(self):
        """Worker 1 of an elastic job is killed, or fails, after it has left."""
        end = self.dice.choice(("kill -9 $$", "kill -SEGV $$", "exit 3"))
        self.note("worker 1 has left:", end)
        self.before_program = (
            "sh", "-c", f'"$@"; status=$?; [ $STRETTO_RANK = 1 ] && {end}; exit $status', "sh")
        self.begin(mixtures.Elastic())
        pathlib.Path(self.folder, "stop").touch()
        status = self.job.end(END)
        if status != 0:
            raise AssertionError(f"status {status}, not 0\n{self.job.output()}")
        self.leaves_nothing()

    def exits_before_joining(self):
        """Worker 1 of an elastic job fails once before it joins, and is started again."""
        end = self.dice.choice(("kill -9 $$", "exit 3"))
        self.note("worker 1 has not joined:", end)
        once = f"[ $STRETTO_RANK = 1 ] && mkdir {self.folder}/once 2> /dev/null && {end}"
        self.before_program = ("sh", "-c", f'{once}; exec "$@"', "sh")
        self.begin(mixtures.Elastic())
        if not pathlib.Path(self.folder, "once").exists():
            raise AssertionError("worker 1 has not failed")
        self.goes_on()

    # ---- kinds: the launcher

    def launcher_ends(self):
        self.any_job()
        number = self.dice.choice((signal.SIGKILL, signal.SIGQUIT, signal.SIGTERM, signal.SIGINT,
                                   signal.SIGHUP, signal.SIGSEGV))
        self.note(number.name, "launcher")
        self.job.send(number)
        if number == signal.SIGINT and self.dice.random() < 0.5:
            self.job.send(number)
        self.job.end(END)
        self.leaves_nothing()

    def launcher_stopped(self):
        """A member is lost while the launcher is stopped."""
        self.any_job()
        victim = self.victim()
        cluster.strike([self.job.pid], signal.SIGSTOP)
        self.note("SIGSTOP launcher")
        self.strike(signal.SIGKILL, victim)
        self.wait(self.dice.uniform(2.0, 10.0))
        self.job.send(signal.SIGCONT)
        self.goes_on(victim)

    def all_stopped(self):
        """The whole job is stopped, and its processes continue one after another."""
        self.any_job()
        pids = [self.job.pid, *self.members.values()]
        self.note("SIGSTOP all")
        cluster.strike(pids, signal.SIGSTOP)
        self.wait(self.dice.uniform(8.0, 15.0))
        self.dice.shuffle(pids)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
            self.wait(self.dice.uniform(0.0, 0.3))
        self.goes_on()

    def unread_output(self):
        """No process reads the launcher's output for a while, and a member is killed."""
        self.before_launcher = ("sh", "-c", '"$@" | cat', "sh")
        self.start(self.any_kind())
        self.job.expect(rf"\] {self.kind.lines}", PATIENCE)
        shell = self.job.pid
        words = hosts.processes()
        launcher, = (pid for pid in cluster.children_of(shell)
                     if words[pid][0] == str(cluster.LAUNCH))
        reader, = (pid for pid in cluster.children_of(shell) if pid != launcher)
        self.job.pid = launcher
        self.members = self.job.members()
        cluster.strike([reader], signal.SIGSTOP)
        self.wait(self.dice.uniform(0.5, 3.0))
        victim = self.victim()
        self.strike(signal.SIGKILL, victim)
        self.wait(self.dice.uniform(0.5, 3.0))
        os.kill(reader, signal.SIGCONT)
        self.goes_on(victim)

    # ---- kinds: resources

    def few_files(self):
        """A limit of open files: the job runs, or its last line names the limit."""
        limit = self.dice.randrange(16, 64)
        self.note("ulimit -n", limit)
        command = [cluster.LAUNCH, "-n", 2, "-s", 2, "--", mixtures.RETURNING, "--steps", 50]
        self.job = cluster.Launched("job", command,
                                    self.environment(STRETTO_RUNTIME_DIR=self.runtime),
                                    open_files=limit)
        self.processes.append(self.job)
        if self.job.end(END) != 0 and not ERROR.search(self.last_line()):
            raise AssertionError(f"the last line is no error\n{self.job.output()}")
        self.leaves_nothing()

    def little_shared_memory(self):
        """/dev/shm has space for a few pages only."""
        size = self.dice.choice(("4k", "64k", "1m"))
        self.note("/dev/shm of", size)
        script = f'mount -t tmpfs -o size={size} none /dev/shm && exec "$@"'
        self.before_launcher = ("unshare", "-m", "sh", "-c", script, "sh")
        self.any_job()
        victim = self.victim()
        self.strike(signal.SIGKILL, victim)
        self.goes_on(victim)

    def slow_disk(self):
        """Writes to the scheduler's journal wait for some seconds, and a member is killed."""
        disk = mixtures.SlowDisk()
        self.addCleanup(disk.close)
        self.runtime, self.expected_files = disk.path, ("lost+found",)
        self.any_job()
        victim = self.victim()
        self.note("frozen disk")
        with disk.frozen():
            self.strike(signal.SIGKILL, victim)
            self.wait(self.dice.uniform(*PAUSES))
        self.goes_on(victim)

    def full_disk(self):
        """The disk of the scheduler's journal is full, and a member is killed."""
        disk = mixtures.SlowDisk()
        self.addCleanup(disk.close)
        self.runtime, self.expected_files = disk.path, ("lost+found", "filler")
        self.any_job()
        victim = self.victim()
        self.note("full disk")
        with contextlib.suppress(OSError), open(disk.path / "filler", "wb", 0) as filler:
            while filler.write(bytes(4096)):
                pass
        self.strike(signal.SIGKILL, victim)
        if victim == "scheduler":  # Its journal may be truncated.
            self.ends_or_goes_on(victim)
        else:
            self.goes_on(victim)


LOCAL = ("kill", "kill_two", "stop", "pause", "long_pause", "slow", "term", "kill_in_start",
         "plain_kill", "plain_stop", "exits_after_leaving", "exits_before_joining",
         "launcher_ends", "launcher_stopped", "all_stopped", "unread_output", "few_files")
ROOT = ("little_shared_memory", "slow_disk", "full_disk")  # These need to mount.
@dataclasses.dataclass
class Result:
    """The result of one job."""
    kind: str
    faults: list
    error: str
    has_effect: bool
    seconds: float


def judged(test, kind, dice, run):
    began, error, has_effect = time.monotonic(), "", True
    test.dice = dice
    test.setUp()
    try:
        run(test)
    except (AssertionError, OSError, subprocess.SubprocessError) as found:
        error = str(found)
    except host_faults.NoEffect:
        has_effect = False
    finally:
        test.doCleanups()
    return Result(kind, test.faults, error, has_effect, time.monotonic() - began)


def over_hosts(seed, numbers):
    """Runs these jobs over hosts, one after another."""
    if not numbers:
        return
    host_faults.HostTrial.setUpClass()
    try:
        for number, kind in numbers:
            yield number, judged(host_faults.HostTrial(), kind, random.Random(f"{seed}.{number}"),
                                 lambda test, kind=kind: test.one(kind))
    finally:
        host_faults.HostTrial.doClassCleanups()


def campaign(options):
    """Prints a line for each job with another outcome than its kind's; the exit status."""
    kinds = list(LOCAL) + (list(ROOT) if os.geteuid() == 0 else [])
    kinds += host_faults.KINDS if not lab.why_no_lab() else ()
    if options.kind:
        kinds = [options.kind]
    drawn = list(enumerate(kinds[number % len(kinds)] for number in range(options.faults)))
    by_kind = collections.defaultdict(list)

    def one(number_and_kind):
        number, kind = number_and_kind
        return number, judged(Trial(), kind, random.Random(f"{options.seed}.{number}"),
                              lambda test: getattr(test, kind)())

    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        local = pool.map(one, (pair for pair in drawn if pair[1] not in host_faults.KINDS))
        far = over_hosts(options.seed, [pair for pair in drawn if pair[1] in host_faults.KINDS])
        for number, result in itertools.chain(local, far):
            by_kind[result.kind].append(result)
            if result.error or options.verbose:
                print(f"{number}: {result.kind}: {', '.join(result.faults)}: {result.seconds:.1f} "
                      f"s: {result.error or 'as expected'}", flush=True)
    results = [result for results in by_kind.values() for result in results]
    failed = sum(bool(result.error) for result in results)
    report = {"faults": sum(result.has_effect for result in results), "unexpected": failed,
              "without_effect": sum(not result.has_effect for result in results)} | {
        kind: f"{sum(not result.error for result in results)} of {len(results)}, "
              f"{max(result.seconds for result in results):.1f} s at most"
        for kind, results in by_kind.items()}
    print(json.dumps(report) if options.json else
          "\n".join(f"{name:20} {value}" for name, value in report.items()))
    return 1 if failed else 0
