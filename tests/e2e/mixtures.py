# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos mixtures`: two faults in one job at default settings. A member is
killed or stopped or pauses, the disk of the scheduler's journal stalls, or a host is cut off, while
the first fault has not been decided yet. Each drawn pair is one that the job survives by
docs/RELIABILITY.md; all workers that are left must take further steps with correct sums.
"""

import concurrent.futures
import contextlib
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
import host_losses
import losses_test

PATIENCE = 90.0  # Seconds from the last fault until each worker has taken two more steps.
RETURNING = cluster.BUILD / "tests" / "returning"
REPLICATING = cluster.BUILD / "tests" / "replicating"
PAUSES = (1.5, 4.5)  # Below STRETTO_DEAD_AFTER_S, which is 5 s: no member is lost.
GAPS = (0.0, 4.0)  # Seconds between the faults.
DISK_BYTES = 64 << 20


class SlowDisk:
    """A file system on a loop device, as the runtime folder of one job. While it is frozen, each
    write to it waits, as on a disk that is busy. Needs root."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self._folder.name) / "disk"
        self.path.mkdir()
        image = pathlib.Path(self._folder.name) / "image"
        with image.open("wb") as file:
            file.truncate(DISK_BYTES)
        for words in (("mkfs.ext4", "-q", image), ("mount", "-o", "loop", image, self.path)):
            subprocess.run(words, check=True)
        self.path.chmod(0o700)

    @contextlib.contextmanager
    def frozen(self):
        subprocess.run(("fsfreeze", "--freeze", self.path), check=True)
        try:
            yield
        finally:
            subprocess.run(("fsfreeze", "--unfreeze", self.path), check=True)

    def close(self):
        subprocess.run(("umount", "--lazy", self.path), check=False)
        self._folder.cleanup()


class Job:
    """The processes of one kind of job: its victims, and pairs of them."""

    lines = "step="  # The prefix of each worker's line for a step.
    is_on_disk = False

    def apart(self, one, two):
        """True if the job survives the loss of both."""
        return one != two


class Sums(Job):
    victims = ("scheduler", "server 0", "server 1")

    def begin(self, test, **variables):
        return test.launch(RETURNING, "--steps", 10**9, "--say_every", 5, workers=2, servers=2,
                           flags=("--restarts", 20), **variables)

    def workers(self, _):
        return ("worker 0", "worker 1")


class Standbys(Sums):
    victims = ("scheduler", "server 0", "server 1", "server 2", "server 3")

    def begin(self, test, **variables):
        return test.launch(REPLICATING, "--steps", 10**9, "--say_every", 5, "--elements", 30_000,
                           workers=2, servers=2, flags=("--restarts", 20, "--replicas", 2),
                           **variables)

    def apart(self, one, two):
        numbers = [int(name[7:]) % 2 for name in (one, two) if name != "scheduler"]
        return one != two and len(set(numbers)) == len(numbers)


class Elastic(Job):
    victims = ("scheduler", "worker 0", "worker 1", "worker 2")
    lines = "round "

    def begin(self, test, **variables):
        return test.launch(losses_test.LOSING, "--until", f"{test.folder}/stop", workers="1:3",
                           servers=2, flags=("--restarts", 20), **variables)

    def workers(self, lost):
        return tuple(f"worker {rank}" for rank in range(3) if f"worker {rank}" not in lost)


KINDS = {"sums": Sums, "standbys": Standbys, "elastic": Elastic}


class Mixture(cluster.ClusterTest):
    """One job and its two faults."""

    def runTest(self):
        """Not run as a test."""

    def one(self, name, dice, disk):
        """Returns a description of the faults, after the job has continued."""
        kind = KINDS[name]()
        variables = {"STRETTO_TRANSPORT": dice.choice(("auto", "tcp"))}
        if disk:
            variables["STRETTO_RUNTIME_DIR"] = disk.path
        job = kind.begin(self, **variables)
        for worker in kind.workers(()):
            job.expect(rf"\[{worker}\] {kind.lines}", PATIENCE, count=2)
        faults = self.drawn(kind, dice, disk)
        members = job.members()
        lost = {victim for what, victim, _ in faults if what in ("kill", "stop")}
        began = time.monotonic()
        for what, victim, seconds in faults:
            threading.Event().wait(max(0.0, began + seconds - time.monotonic()))
            self.strike(what, members.get(victim), dice, disk)
        self.await_all()
        since = len(job.lines)
        for worker in kind.workers(lost):
            job.expect(rf"\[{worker}\] {kind.lines}", PATIENCE, count=2, since=since)
        wrong = [line for line in job.lines if re.search(r"WRONG|wrong:", line)]
        if wrong:
            raise AssertionError(f"{wrong[0]}\n{job.output()}")
        self.kill_all(job)

    def drawn(self, kind, dice, disk):
        """Two pairs of a fault and a victim, each with the seconds from the first."""
        gap = dice.choice((0.0, dice.uniform(*GAPS)))
        while True:
            one, two = dice.choice(kind.victims), dice.choice(kind.victims)
            if kind.apart(one, two):
                break
        whats = [dice.choice(("kill", "stop", "pause")) for _ in range(2)]
        if disk:
            whats[dice.randrange(2)] = "disk"
        self.faults = [(whats[0], one, 0.0), (whats[1], two, gap)]
        return self.faults

    def strike(self, what, pid, dice, disk):
        if what == "kill":
            cluster.strike([pid], dice.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGABRT)))
        elif what == "stop":
            cluster.strike([pid], signal.SIGSTOP)
        else:
            length = dice.uniform(*PAUSES)
            self.waiting.append(self.pool.submit(self.pause, what, pid, length, disk))

    def pause(self, what, pid, length, disk):
        if what == "disk":
            with disk.frozen():
                threading.Event().wait(length)
            return
        cluster.strike([pid], signal.SIGSTOP)
        threading.Event().wait(length)
        with contextlib.suppress(ProcessLookupError):  # The launcher may have ended it.
            os.kill(pid, signal.SIGCONT)

    def await_all(self):
        """Raises the error of a pause."""
        for pause in self.waiting:
            pause.result()

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.waiting, self.faults = folder.name, [], []
        self.pool = self.enterContext(concurrent.futures.ThreadPoolExecutor(2))


class CutHost(host_losses.HostsLost):
    """A host with two servers is cut off, temporarily or permanently, together with a fault of the
    scheduler or a pause of any member."""

    def runTest(self):
        """Not run as a test."""

    def one(self, dice):
        job = self.begin("--steps", 10**9, "--say_every", 5, "--elements", 30_000)
        name, gap = dice.choice(host_losses.PLACES), dice.choice((0.0, dice.uniform(*GAPS)))
        seconds = dice.choice((dice.uniform(*PAUSES), None))
        number = dice.choice((signal.SIGKILL, signal.SIGSTOP))
        pauses = number == signal.SIGSTOP and dice.random() < 0.5
        self.faults = [("cut", name, seconds), (number.name, "scheduler", gap, pauses)]
        scheduler = self.members()["scheduler"]
        with contextlib.ExitStack() as power, contextlib.ExitStack() as cut:
            if seconds is None:
                server = f"server {host_losses.PLACES.index(name)}"
                self.lose_host_of(job, server, name, power)
            else:
                cut.enter_context(self.lab.without_power(name, ()))
            threading.Event().wait(gap)
            cluster.strike([scheduler], number)
            if pauses:
                threading.Event().wait(dice.uniform(*PAUSES))
                os.kill(scheduler, signal.SIGCONT)
            if seconds is not None:
                threading.Event().wait(seconds)
                cut.close()
            self.goes_on(job, len(job.lines))
            if "WRONG" in job.output():
                raise AssertionError(f"wrong sums\n{job.output()}")
            self.kill_all(job)


def local(seed, number, slow_disk):
    """One job on this host: (description, error)."""
    dice = random.Random(f"{seed}.{number}")
    name = dice.choice(sorted(KINDS))
    disk = SlowDisk() if slow_disk and dice.random() < 0.25 else None
    test = Mixture()
    test.setUp()
    error = ""
    try:
        test.one(name, dice, disk)
    except (AssertionError, OSError, subprocess.SubprocessError) as found:
        error = str(found)
    finally:
        test.doCleanups()
        if disk:
            disk.close()
    return f"{number}: {name}: {test.faults}", error


def hosts_cut(seed, count):
    """That many jobs over hosts, one after another."""
    CutHost.setUpClass()
    try:
        for number in range(count):
            test, error = CutHost(), ""
            test.setUp()
            try:
                test.one(random.Random(f"{seed}.host.{number}"))
            except (AssertionError, OSError, subprocess.SubprocessError) as found:
                error = str(found)
            finally:
                test.doCleanups()
            yield f"{number}: hosts: {test.faults}", error
    finally:
        CutHost.doClassCleanups()


def campaign(options):
    """Prints a line for each job that ended or made no steps; the exit status."""
    is_root = os.geteuid() == 0
    cuts = options.faults // 10 if is_root else 0
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        def one(number):
            return local(options.seed, number, is_root)
        for text, error in itertools.chain(pool.map(one, range(options.faults - cuts)),
                                           hosts_cut(options.seed, cuts)):
            failed += bool(error)
            if error or options.verbose:
                print(f"{text}: {error or 'goes on'}", flush=True)
    result = {"mixtures": options.faults, "over_hosts": cuts, "ended": failed}
    print(json.dumps(result) if options.json else
          "\n".join(f"{name:20} {value}" for name, value in result.items()))
    return 1 if failed else 0
