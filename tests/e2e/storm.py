# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos storm`: a real scheduler, and members of one process (storming.cc)
whose links to it all break at once, several times. It measures CPU time and lost members."""

import json
import os
import pathlib
import re
import resource
import time

import cluster

STORMING = cluster.BUILD / "tests" / "storming"
TOKEN = "storm in this glass"
LONGEST = 600.0
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """The CPU time that a process has used so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Storm(cluster.ClusterTest):
    """One scheduler and its members."""

    def runTest(self):
        """Not run as a test."""

    def go(self, options):
        """Runs the storm; returns the results as a table."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        shared = {"STRETTO_WORLD_SIZE": options.members - 1, "STRETTO_SERVERS": 1,
                  "STRETTO_MIN_WORKERS": 1, "STRETTO_JOB_TOKEN": TOKEN,
                  "STRETTO_RENDEZVOUS_TIMEOUT_S": 120}
        scheduler = self.start("scheduler", [cluster.SCHEDULER], **shared,
                               STRETTO_SCHEDULER="127.0.0.1:0")
        address = ":".join(map(str, cluster.address_of(scheduler)))
        crowd = self.start("crowd", [STORMING, "--scheduler", address, "--token", TOKEN,
                                     "--members", options.members, "--storms", options.storms,
                                     "--calm", options.calm])
        found = {"members": options.members, "storms": []}
        joined = crowd.expect(r"^in (\d+) after ([\d.]+) s", LONGEST)
        found["in"], found["in_s"] = int(joined[1]), float(joined[2])
        found["memory_mb"] = round(cluster.resident_bytes(scheduler.pid) / 1e6, 1)
        for storm in range(options.storms):
            crowd.expect(rf"^storm {storm}$", LONGEST)
            cpu, began = cpu_seconds(scheduler.pid), time.monotonic()
            back = crowd.expect(r"^back (\d+) p50 (\S+) p99 (\S+) most (\S+) lost (\d+)$", LONGEST,
                                count=storm + 1)
            found["storms"].append({
                "back": int(back[1]), "p50_s": float(back[2]), "p99_s": float(back[3]),
                "most_s": float(back[4]), "lost": int(back[5]),
                "scheduler_cpu_s": round(cpu_seconds(scheduler.pid) - cpu, 2),
                "took_s": round(time.monotonic() - began, 2),
                "memory_mb": round(cluster.resident_bytes(scheduler.pid) / 1e6, 1)})
        end = crowd.expect(r"^left (\d+) after (\S+) s lost (\d+) failed (\d+)$", LONGEST)
        found |= {"left": int(end[1]), "left_s": float(end[2]), "lost": int(end[3]),
                  "failed": int(end[4]), "scheduler_status": scheduler.end(LONGEST),
                  "links_remade": len(re.findall(r"is made anew", scheduler.output()))}
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return found, scheduler.output() + "\n" + crowd.output()


def run(options):
    """The results, and the output."""
    storm = Storm()
    storm.setUp()
    try:
        return storm.go(options)
    finally:
        storm.doCleanups()


def campaign(options):
    """Prints the results; returns the exit status."""
    found, said = run(options)
    well = (found["in"] == found["left"] == options.members and not found["lost"]
            and not found["failed"] and found["scheduler_status"] == 0)
    if not well:
        print(said[-4000:])
    print(json.dumps(found) if options.json else "\n".join(f"{name:18} {value}"
                                                           for name, value in found.items()))
    return 0 if well else 1
