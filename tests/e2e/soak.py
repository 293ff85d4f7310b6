# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos soak`: one elastic job with `--replicas 2` and `--log-dir`, at
default settings. A member is killed or stopped every few seconds. The campaign reports by how much
the memory, the descriptors and the threads of long-lived processes grow."""

import json
import os
import pathlib
import random
import tempfile
import threading
import time

import cluster
import elastic_returns
import returns
import trains
from again import at, in_short

MOST_WORKERS = 60  # The program can distinguish 64.
LOOKS = 16  # Samples at the start of a process and at its end, which are compared.
MOST_RESIDENT = 4 << 20  # Bytes by which a process may grow: heaps of many threads fill slowly.


class Soak(elastic_returns.ElasticReturns):
    """One job."""

    variables = {}
    pause_ms = 20  # The job runs for long and must not need a processor.

    def runTest(self):
        """Not run as a test."""

    def setUp(self):
        super().setUp()
        self.looks, self.inherited, self.stale = {}, [], []

    def one(self, options, totals):
        dice = random.Random(f"{options.seed}.soak")
        with tempfile.TemporaryDirectory() as folder:
            logs = pathlib.Path(folder) / "logs"
            self.flags = ("--restarts", 4096, "--replicas", 2, "--log-dir", logs)
            job = self.begin(dice, folder)
            end = time.monotonic() + options.minutes * 60
            try:
                while time.monotonic() < end:
                    threading.Event().wait(options.every)
                    if max(self.workers) >= MOST_WORKERS:
                        self.kinds = ("server", "scheduler")
                    self.strike(job, dice, totals)
                    self.look(job)
                with open(f"{folder}/until", "w", encoding="ascii"):
                    pass
                if job.end() != 0:
                    raise AssertionError(f"the job ended with an error\n{job.output()}")
            finally:
                totals.wrong += any("] wrong:" in line for line in job.lines)
            self.assert_nobody_left()

    def look(self, job):
        """Records the sizes of all processes, the logs that the newest process has open, and how
        many logs of ended processes the launcher has open."""
        watched = job.members() | {"launcher": job.pid}
        newest = max(watched.values())
        for name, pid in watched.items():
            now = trains.sizes_of(pid)
            if now is None:
                continue
            if pid == newest:
                self.inherited.append(open_logs(pid))
            if name == "launcher":
                self.stale.append(open_logs(pid) - len(watched) + 1)
            self.looks.setdefault((name, pid), []).append(now)

    def grown(self):
        """The minimum of a process's last samples, less the maximum of its first samples."""
        return {f"{name} ({pid})": trains.Sizes(*(
                    min(getattr(look, what) for look in looks[-LOOKS:])
                    - max(getattr(look, what) for look in looks[:LOOKS])
                    for what in ("resident", "files", "threads")))
                for (name, pid), looks in self.looks.items() if len(looks) >= 2 * LOOKS}


def open_logs(pid):
    """How many files of --log-dir a process has open."""
    count = 0
    for entry in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
        try:
            count += os.readlink(entry).endswith(".log")
        except OSError:
            continue
    return count


def campaign(options):
    """Prints what grew; the exit status."""
    totals, test = returns.Standstills(), Soak()
    test.setUp()
    try:
        test.one(options, totals)
    except AssertionError as error:
        totals.hangs += 1
        print(in_short(error), flush=True)
    finally:
        test.doCleanups()
    grown = test.grown()
    flat = all(sizes.resident <= MOST_RESIDENT and sizes.files <= 0 and sizes.threads <= 0
               for sizes in grown.values())
    result = {"faults": totals.faults, "hangs": totals.hangs, "wrong": totals.wrong,
              "killed_p99_s": at(totals.killed, 0.99), "stopped_p99_s": at(totals.stopped, 0.99),
              "logs_of_others_open": max(test.inherited, default=0), "flat": flat,
              "grown": {name: f"{sizes.resident / 2**20:.1f} MiB, {sizes.files} files, "
                              f"{sizes.threads} threads" for name, sizes in grown.items()}}
    print(json.dumps(result) if options.json else
          "\n".join(f"{name:20} {value}" for name, value in result.items()))
    return 0 if totals.fine() and flat and not result["logs_of_others_open"] else 1
