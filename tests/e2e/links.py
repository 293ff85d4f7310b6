# SPDX-License-Identifier: Apache-2.0
"""Hosts in network namespaces of their own, a job that trains on them, and the link between worker
0 and server 0 cut in one of several ways: what failures of a network look like to the processes.
And the campaign of such cuts that `tools/chaos links` makes.
"""

import dataclasses
import json
import os
import random
import subprocess
import time

import cluster
import hosts
import lab

FLAGS = ("--rounds", 10**9, "--progress", 5, "--elements", 20000)
HOSTS = ("scheduler", "server", "worker", "others")
# What does it, as rules of iptables at the end that no longer hears: `from` the other one.
KINDS = {
    "drop": ("-j", "DROP"),
    "reset": ("-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"),
    "large": ("-m", "length", "--length", "500:65535", "-j", "DROP"),
}
DIRECTIONS = ("to worker", "to server", "both")
TRANSPORTS = ("zmq", "fabric")
# Of a campaign: seconds from a cut to the end of the last process, and until who has not ended is
# counted as hanging.
MOST_SECONDS = 10.0
LONGEST_WAIT = 40.0


class Network:
    """A namespace for each of HOSTS, and one that joins them."""

    def __init__(self):
        self._names = []
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self):
        for host in ("switch", *HOSTS):
            hosts.run("ip", "netns", "add", self._name(host))
            self._names.append(self._name(host))
            hosts.run("ip", "-n", self._name(host), "link", "set", "lo", "up")
        switch = self._name("switch")
        hosts.run("ip", "-n", switch, "link", "add", "wire", "type", "bridge")
        hosts.run("ip", "-n", switch, "link", "set", "wire", "up")
        for host in HOSTS:
            name = self._name(host)
            hosts.run("ip", "-n", switch, "link", "add", f"to-{host}", "type", "veth", "peer",
                      "name", "wire", "netns", name)
            hosts.run("ip", "-n", switch, "link", "set", f"to-{host}", "master", "wire", "up")
            hosts.run("ip", "-n", name, "addr", "add", f"{self.address(host)}/24", "dev", "wire")
            hosts.run("ip", "-n", name, "link", "set", "wire", "up")

    @staticmethod
    def address(host):
        """Only inside our namespaces."""
        return f"10.214.0.{HOSTS.index(host) + 1}"

    @staticmethod
    def _name(host):
        return f"stretto-{os.getpid()}-{host}"

    def at(self, host):
        """Words before a command that is to run on a host."""
        return ["ip", "netns", "exec", self._name(host)]

    def cut(self, kind, direction):
        """From now on one of KINDS befalls what worker 0's host and server 0's send each other."""
        for host, other in (("worker", "server"), ("server", "worker")):
            if direction not in (f"to {host}", "both"):
                continue
            hosts.run(*self.at(host), hosts.program("iptables"), "-A", "INPUT", "-s",
                      self.address(other), *KINDS[kind])

    def mend(self):
        for host in ("worker", "server"):
            hosts.run(*self.at(host), hosts.program("iptables"), "-F", "INPUT")

    def close(self):
        for name in self._names:
            subprocess.run(["ip", "netns", "del", name], check=False)


@dataclasses.dataclass
class Outcome:
    """Of one cut: seconds from it until the last process had ended, and what was not right."""

    seconds: float
    wrong: list
    output: str


class Job(cluster.ByHand):
    """Scheduler, servers 0 and 1 and workers 0 and 1 on their hosts, started one by one."""

    def __init__(self, test, network, transport, flags=FLAGS, **variables):
        self.network = network
        self._place = {"scheduler": "scheduler", "server 0": "server", "worker 0": "worker"}
        super().__init__(test, STRETTO_TRANSPORT=transport, STRETTO_JOB_TOKEN="links of this lab",
                         STRETTO_BIND_HOST="0.0.0.0", **variables)
        for rank in (0, 1):
            self.server(rank)
        for rank in (0, 1):
            self.worker(rank, flags)

    def _start(self, name, command, **variables):
        host = self._place.get(name, "others")
        address = self.network.address(host)
        if name == "scheduler":
            variables["STRETTO_SCHEDULER"] = f"{address}:0"
        return super()._start(name, [*self.network.at(host), *command], STRETTO_NODE_HOST=address,
                              **variables)

    def await_training(self):
        for rank in (0, 1):
            self.everybody[f"worker {rank}"].expect("progress round=10$")

    def outcome(self, since, seconds):
        """How the job takes a cut that was made at `since`; who has not ended is destroyed."""
        wrong, last = [], since
        for name, process in self.everybody.items():
            try:
                process.end(max(0.1, since + seconds - time.monotonic()))
            except AssertionError:
                wrong.append(f"{name} still runs after {time.monotonic() - since:.1f} s")
                process.destroy()
            last = max(last, process.ended_at)
            errors = process.errors()
            if len(errors) != 1:
                wrong.append(f"{name} has {len(errors)} ERROR lines")
            for error in errors:
                if "worker 0" not in error.text or "server 0" not in error.text:
                    wrong.append(f"{name} does not name both ends: {error.text}")
        output = "\n".join(process.output() for process in self.everybody.values())
        return Outcome(last - since, wrong, output)


class Campaign(cluster.ClusterTest):
    """Jobs over all transports at once, for each cut anew."""

    def runTest(self):
        """Not run as a test."""

    def cut(self, network, chance, transports, kinds):
        """One cut of each transport's job; its lines for the report."""
        kind = chance.choice(kinds)
        direction = chance.choice(DIRECTIONS)
        elements = chance.choice((1000, 100000))
        rounds = chance.randrange(1, 50)
        flags = ("--rounds", 10**9, "--progress", 1, "--elements", elements)
        network.mend()
        jobs = {name: Job(self, network, name, flags) for name in transports}
        for job in jobs.values():
            job.everybody["worker 0"].expect(f"progress round={rounds}$")
        since = time.monotonic()
        network.cut(kind, direction)
        for name, job in jobs.items():
            outcome = job.outcome(since, LONGEST_WAIT)
            late = outcome.seconds > MOST_SECONDS
            yield {"transport": name, "kind": kind, "direction": direction, "elements": elements,
                   "round": rounds, "seconds": round(outcome.seconds, 2), "late": late,
                   "wrong": outcome.wrong}


def told(line):
    """A line of the report, for people."""
    state = "; ".join(line["wrong"]) or ("late" if line["late"] else "well")
    return (f"{line['transport']:6} {line['kind']:5} {line['direction']:9} "
            f"{line['elements']:6} elements, round {line['round']:2}: "
            f"{line['seconds']:5.1f} s, {state}")


def campaign(options):
    """`tools/chaos links`; the exit status."""
    kinds = [options.kind] if options.kind else sorted(KINDS)
    missing = lab.why_no_lab()
    if missing:
        raise SystemExit(f"chaos: no lab can be made here: {missing}")
    chance, done = random.Random(options.seed), []
    network = Network()
    try:
        while len(done) < options.cuts:
            job = Campaign()
            job.setUp()
            try:
                for line in job.cut(network, chance, options.transports, kinds):
                    done.append(line)
                    print(json.dumps(line) if options.json else told(line), flush=True)
            finally:
                job.doCleanups()
    finally:
        network.close()
    bad = [line for line in done if line["late"] or line["wrong"]]
    seconds = sorted(line["seconds"] for line in done)
    total = {"cuts": len(done), "bad": len(bad), "median_s": seconds[len(seconds) // 2],
             "longest_s": seconds[-1], "seed": options.seed}
    print(json.dumps(total) if options.json else
          f"{total['cuts']} cuts, {total['bad']} not as they should be; all had ended after "
          f"{total['median_s']:.1f} s (median), {total['longest_s']:.1f} s at most")
    return int(bool(bad))
