# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos moves`: a job whose servers keep 64 MiB of parameters migrates them,
one after another, while its workers make steps of some milliseconds. Measures the longest step
around each handoff, and the number of steps during the copy."""

import json
import os
import pathlib
import signal
import statistics
import tempfile
import threading
import time

import cluster

MOVING = cluster.BUILD / "tests" / "moving"
PATIENCE = 120.0
CALM = 1.0  # Seconds between two moves, without activity.
AROUND = 0.25  # Seconds before and after a handoff.
STARTED = r"\[launcher\] server (\d+) is started, to have the place of server (\d+)"
HAS_PLACE = r"server (\d+) has given its place to server (\d+)"


def steps_in(path):
    """(start, end) of each step, in seconds of time.monotonic()."""
    steps = []
    for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        end, lasted = (int(word) / 1e9 for word in line.split())
        steps.append((end - lasted, end))
    return steps


def longest(steps, begin, end):
    """The longest step in progress between these two times."""
    return max((stop - start for start, stop in steps if stop >= begin and start <= end),
               default=0.0)


def at(values, share):
    """The quantile of the values for this share."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def pace(steps, begin, end):
    """Steps a second that ended between these two times."""
    return sum(1 for _, stop in steps if begin <= stop < end) / (end - begin)


class Moves(cluster.ClusterTest):
    """One job."""

    def runTest(self):
        """Not run as a test."""

    def moved(self, job, name, count):
        """(requested, completed) times of one migration, and the new primary."""
        asked = time.monotonic()
        os.kill(job.members()[name], signal.SIGTERM)
        has = job.expect(HAS_PLACE, PATIENCE, count=count)
        told = [at for line, at in zip(job.lines, job.times) if "has given its place to" in line]
        return (asked, told[count - 1]), f"server {has[2]}"

    def run_moves(self, moves, times):
        job = self.launch(MOVING, "--steps", 10**9, "--times", times, workers=2, servers=2,
                          flags=("--restarts", 3))
        job.expect(r"\[worker 1\] begun", PATIENCE)
        names, spans = ["server 0", "server 1"], []
        threading.Event().wait(CALM)
        for turn in range(moves):
            span, names[turn % 2] = self.moved(job, names[turn % 2], turn + 1)
            spans.append(span)
            threading.Event().wait(CALM)
        self.kill_all(job)
        return spans


def figures(spans, steps):
    """The cost of the migrations."""
    frozen = [longest(steps, handed - AROUND, handed + AROUND) for _, handed in spans]
    undisturbed = [(handed + AROUND, handed + CALM - 0.1) for _, handed in spans]
    usual = statistics.median(pace(steps, *span) for span in undisturbed)
    copying = statistics.median(pace(steps, *span) for span in spans)
    return {"moves": len(spans),
            "usual_step_ms": 1e3 * statistics.median(stop - start for start, stop in steps),
            "usual_longest_ms_p50": 1e3 * at([longest(steps, *span) for span in undisturbed], 0.5),
            "usual_longest_ms_p99": 1e3 * at([longest(steps, *span) for span in undisturbed], 0.99),
            "frozen_ms_p50": 1e3 * at(frozen, 0.5), "frozen_ms_p99": 1e3 * at(frozen, 0.99),
            "move_ms_p50": 1e3 * at([handed - asked for asked, handed in spans], 0.5),
            "pace_while_copying": copying / usual}


def campaign(options):
    """Prints the results; returns the exit status."""
    test = Moves()
    test.setUp()
    try:
        with tempfile.TemporaryDirectory() as folder:
            times = pathlib.Path(folder) / "times"
            spans = test.run_moves(options.faults, times)
            result = figures(spans, steps_in(f"{times}.0"))
    finally:
        test.doCleanups()
    print(json.dumps(result) if options.json else
          "\n".join(f"{name:22} {value:.4g}" for name, value in result.items()))
    return 0
