# SPDX-License-Identifier: Apache-2.0
"""Hosts in separate network namespaces, a job that trains on them or two RPC peers that call each
other, and a link between two of these cut in one of several ways: the effects of network failures
on the processes. Also the campaign of such cuts for `tools/chaos links`.
"""

import contextlib
import dataclasses
import json
import os
import random
import re
import subprocess
import time

import cluster
import hosts
import lab

FLAGS = ("--rounds", 10**9, "--progress", 5, "--elements", 20000)
HOSTS = ("scheduler", "server", "worker", "others")
# Rules of iptables at the receiving end: `from` the peer.
KINDS = {
    "drop": ("-j", "DROP"),
    "reset": ("-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"),
    "large": ("-m", "length", "--length", "500:65535", "-j", "DROP"),
}
# Another kind, which is no cut: TCP recovers from it.
LOSSY = ("-m", "statistic", "--mode", "random", "--probability", "0.01", "-j", "DROP")
# The link to cut: the hosts at its two ends, which define the directions. "provider" is the
# libfabric provider's part of the first one, without our own connection.
LINKS = {
    "data": ("worker", "server"),
    "provider": ("worker", "server"),
    "worker-scheduler": ("worker", "scheduler"),
    "server-scheduler": ("server", "scheduler"),
    "rpc": ("worker", "server"),
}
TRANSPORTS = ("tcp", "fabric")
CALLING = cluster.BUILD / "tests" / "calling"
# Of a campaign: seconds from a cut to the end of the last process, and until a running process
# counts as hanging.
MOST_SECONDS = 10.0
LONGEST_WAIT = 40.0
BUSY_BYTES = 1 << 16
UNDISTURBED = 12.0  # Seconds for which a harmless cut is watched.


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
        """Words before a command for a host."""
        return ["ip", "netns", "exec", self._name(host)]

    def cut(self, kind, direction, ends=LINKS["data"], only=()):
        """From now on one of KINDS, or "lossy", affects the traffic between the hosts at the two
        ends, or `only` some ports of TCP: (the first end's, the second one's).
        """
        what = LOSSY if kind == "lossy" else KINDS[kind]
        for near, far in (ends, ends[::-1]):
            if direction not in (f"to {near}", "both"):
                continue
            pairs = [pair if near == ends[0] else pair[::-1] for pair in only]
            flows = [("-p", "tcp", "--dport", near_port, "--sport", far_port)
                     for near_port, far_port in pairs] or [()]
            for flow in flows:
                hosts.run(*self.at(near), hosts.program("iptables"), "-A", "INPUT", "-s",
                          self.address(far), *flow, *what)

    def busy_ports(self, ends):
        """(the first end's port, the second one's) of each connection between the two that has
        carried more than hellos."""
        found, near, far = [], *(self.address(end) for end in ends)
        lines = subprocess.run([*self.at(ends[0]), "ss", "-tinHO", "state", "established"],
                               capture_output=True, text=True, check=True).stdout.splitlines()
        for line in lines:
            ports = re.search(rf" {re.escape(near)}:(\d+) +{re.escape(far)}:(\d+) ", line)
            carried = re.findall(r"bytes_(?:received|acked):(\d+)", line)
            if ports and sum(map(int, carried)) > BUSY_BYTES:
                found.append(ports.groups())
        return found

    def hits(self):
        """The number of packets that the cut has affected; 0: it had no effect."""
        words = (hosts.program("iptables"), "-nvxL", "INPUT")
        told = [subprocess.run([*self.at(host), *words], capture_output=True, text=True,
                               check=True).stdout for host in HOSTS]
        rules = [line for text in told for line in text.splitlines()[2:] if line.strip()]
        return sum(int(line.split()[0]) for line in rules)

    def mend(self):
        for host in HOSTS:
            hosts.run(*self.at(host), hosts.program("iptables"), "-F", "INPUT")

    def pull(self, host):
        """Unplugs the host's cable: no traffic passes until it is plugged in."""
        hosts.run("ip", "-n", self._name(host), "link", "set", "wire", "down")
        told = subprocess.run(["ip", "-n", self._name(host), "link", "show", "wire"],
                              capture_output=True, text=True, check=True).stdout
        if "state DOWN" not in told:
            raise AssertionError(f"the cable of {host} is not pulled: {told}")

    def put_back(self, host):
        hosts.run("ip", "-n", self._name(host), "link", "set", "wire", "up")

    def close(self):
        for name in self._names:
            subprocess.run(["ip", "netns", "del", name], check=False)


@dataclasses.dataclass
class Outcome:
    """The result of a cut: seconds from it until the last process had ended, and errors found."""

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

    def await_training(self, rounds=10):
        for rank in (0, 1):
            self.everybody[f"worker {rank}"].expect(f"progress round={rounds}$")

    def outcome(self, since, seconds, link="data"):
        return outcome_of(self.everybody, since, seconds,
                          lambda name: must_name(link, name))

    def goes_on(self, since):
        """Checks that a cut of an unused link has no effect."""
        wrong = []
        for name, process in self.everybody.items():
            with contextlib.suppress(AssertionError):
                process.end(max(0.1, since + UNDISTURBED - time.monotonic()))
                wrong.append(f"{name} has ended: {process.lines[-1:]}")
        if not wrong and self.everybody["worker 0"].times[-1] < since + UNDISTURBED / 2:
            wrong.append("nobody trains any more")
        for process in self.everybody.values():
            process.destroy()
        return Outcome(0.0, wrong, "")


class Calls:
    """Two RPC peers that call each other: one at the host of worker 0, which connects, and one at
    that of server 0."""

    def __init__(self, test, network, transport, flags, **variables):
        self.everybody = {}
        for name, host in (("callee", "server"), ("caller", "worker")):
            to = []
            if name == "caller":
                address, port = cluster.address_of(self.everybody["callee"])
                to = ["--to", f"{address}:{port}"]
            command = [*network.at(host), CALLING, *flags, *to]
            self.everybody[name] = test.start(
                name, command, STRETTO_TRANSPORT=transport, STRETTO_BIND_HOST="0.0.0.0",
                STRETTO_JOB_TOKEN="links of this lab", STRETTO_NODE_HOST=network.address(host),
                **variables)

    def await_training(self, rounds=10):
        for process in self.everybody.values():
            process.expect(f"progress round={rounds}$")

    def outcome(self, since, seconds, link="rpc"):
        assert link == "rpc"
        # The listening peer identifies the other one by its host's name and process.
        far = {"callee": f":{self.everybody['caller'].pid}", "caller": Network.address("server")}
        return outcome_of(self.everybody, since, seconds, lambda name: ("PeerLost", far[name]))


def must_name(link, name):
    """Required words in a member's last line after a cut of the link. The scheduler's report of a
    loss is about its own link to that member, and this member can only report the scheduler."""
    if link in ("data", "provider"):
        return ("worker 0", "server 0")
    lost = link.removesuffix("-scheduler") + " 0"
    return ("scheduler",) if name == lost else (lost,)


def outcome_of(everybody, since, seconds, words):
    """The processes' reaction to a cut made at `since`; running processes are killed."""
    wrong, last = [], since
    for name, process in everybody.items():
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
            if not all(word in error.text for word in words(name)):
                wrong.append(f"{name} does not name the link: {error.text}")
    output = "\n".join(process.output() for process in everybody.values())
    return Outcome(last - since, wrong, output)


class Campaign(cluster.ClusterTest):
    """Jobs over all transports at once, new ones for each cut."""

    def runTest(self):
        """Not run as a test."""

    def cut(self, network, chance, link, options):
        """One cut of each transport's job; its lines for the report."""
        ends = LINKS[link]
        kind = options.kind or chance.choice(sorted(KINDS))
        direction = chance.choice((f"to {ends[0]}", f"to {ends[1]}", "both"))
        elements = chance.choice((1000, 100000))
        rounds = chance.randrange(1, 50)
        network.mend()
        make, flags = Job, ("--rounds", 10**9, "--progress", 1, "--elements", elements)
        if link == "rpc":
            make, flags = Calls, ("--progress", 1, "--bytes", 4 * elements)
            if kind != "large" and chance.random() < 0.3:
                rounds, flags = 1, (*flags, "--holds")
        transports = ("fabric",) if link == "provider" else options.transports
        jobs = {name: make(self, network, name, flags) for name in transports}
        for job in jobs.values():
            job.await_training(rounds)
        since = time.monotonic()
        network.cut(kind, direction, ends,
                    only=network.busy_ports(ends) if link == "provider" else ())
        # No message of a job in training to its scheduler needs a large packet.
        unused = kind == "large" and "scheduler" in link
        outcomes = {name: job.goes_on(since) if unused else job.outcome(since, LONGEST_WAIT, link)
                    for name, job in jobs.items()}
        met = network.hits()
        for name, outcome in outcomes.items():
            if not (met or unused):
                outcome.wrong.append("the cut met no packet")
            late = outcome.seconds > MOST_SECONDS
            yield {"link": link, "transport": name, "kind": kind, "direction": direction,
                   "elements": elements, "round": rounds, "goes_on": unused,
                   "seconds": round(outcome.seconds, 2), "late": late, "wrong": outcome.wrong}


def told(line):
    """A line of the report, for people."""
    state = "; ".join(line["wrong"]) or ("late" if line["late"] else "well")
    return (f"{line['link']:16} {line['transport']:6} {line['kind']:5} {line['direction']:12} "
            f"{line['elements']:6} elements, round {line['round']:2}: "
            f"{line['seconds']:5.1f} s, {state}")


def campaign(options):
    """`tools/chaos links`; the exit status."""
    missing = lab.why_no_lab()
    if missing:
        raise SystemExit(f"chaos: no lab can be made here: {missing}")
    chance, done, rounds = random.Random(options.seed), [], 0
    network = Network()
    try:
        while len(done) < options.cuts:
            job = Campaign()
            job.setUp()
            try:
                link = options.links[rounds % len(options.links)]
                rounds += 1
                for line in job.cut(network, chance, link, options):
                    done.append(line)
                    print(json.dumps(line) if options.json else told(line), flush=True)
            finally:
                job.doCleanups()
    finally:
        network.close()
    bad = [line for line in done if line["late"] or line["wrong"]]
    seconds = sorted(line["seconds"] for line in done if not line["goes_on"]) or [0.0]
    total = {"cuts": len(done), "bad": len(bad), "median_s": seconds[len(seconds) // 2],
             "longest_s": seconds[-1], "seed": options.seed}
    print(json.dumps(total) if options.json else
          f"{total['cuts']} cuts, {total['bad']} not as they should be; all had ended after "
          f"{total['median_s']:.1f} s (median), {total['longest_s']:.1f} s at most")
    return int(bool(bad))
