# SPDX-License-Identifier: Apache-2.0
"""Faults of one host of a job, or of its network, for the campaign of `tools/chaos kinds`."""

import contextlib
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

import cluster
import host_losses
import hosts
import losses_test

PAUSES = (1.5, 4.5)  # Below STRETTO_DEAD_AFTER_S, which is 5 s: no member is lost.
KINDS = ("agent_killed", "agent_stopped", "agent_told", "off", "off_for_a_time",
         "cut_from_worker", "cut_from_server", "cut_elastic_worker", "slow_network")
STALL = 4.0  # Seconds that a worker may block its peers after its expulsion.
EFFECT = 10.0  # Seconds from a cut until it has affected a packet.
WATCHED = 15.0  # Seconds after that.


class NoEffect(Exception):
    """The fault tested nothing."""


class HostTrial(host_losses.HostsLost):
    """One job over hosts, with a fault of the host of a server and of a standby, or of its network.
    All workers make progress."""

    WAYS = {"drop": ("-j", "DROP"),
            "large": ("-m", "length", "--length", "577:65535", "-j", "DROP"),
            "reset": ("-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset")}

    def runTest(self):
        """Not run as a test."""

    def setUp(self):
        super().setUp()
        self.faults = []

    def one(self, kind):
        if kind == "cut_elastic_worker":
            self.cut_elastic_worker()
            return
        job = self.begin("--steps", 10**9, "--say_every", 5, "--elements", 30_000)
        name = self.dice.choice(host_losses.PLACES)
        server = f"server {host_losses.PLACES.index(name)}"
        self.faults.append(f"host {name}: {kind}")
        with contextlib.ExitStack() as undo:
            getattr(self, kind)(job, name, server, undo)
            self.goes_on(job, len(job.lines))
        if re.search("WRONG|wrong:", job.output()):
            raise AssertionError(f"wrong sums\n{job.output()}")
        self.kill_all(job)

    def agent_killed(self, job, _, server, __):
        cluster.strike([self.agent_with(server)], signal.SIGKILL)

    def agent_stopped(self, job, _, server, undo):
        agent = self.agent_with(server)
        below = [agent, *cluster.children_of(agent)]
        cluster.strike([agent], signal.SIGSTOP)
        undo.callback(self.let_go, below)

    def agent_told(self, job, _, server, __):
        cluster.strike([self.agent_with(server)], signal.SIGTERM)

    def off(self, job, name, server, undo):
        self.lose_host_of(job, server, name, undo)

    def off_for_a_time(self, job, name, _, __):
        with self.lab.without_power(name, ()):
            threading.Event().wait(self.dice.uniform(*PAUSES))

    def cut_from_worker(self, job, name, _, undo):
        """Cuts some or all packets between the workers and this host, in one direction or both."""
        self.cut(name, "work", undo)

    def cut_from_server(self, job, name, _, undo):
        far = self.dice.choice([place for place in host_losses.PLACES if place != name])
        self.cut(name, far, undo)

    def cut_elastic_worker(self):
        """A worker loses packets to or from the servers; it blocks its peers once, not each time
        that it tries to rejoin."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        servers = pathlib.Path(folder, "servers")
        servers.write_text("work:2\n", encoding="ascii")
        places = ",".join(f"{name}:1" for name in host_losses.PLACES)
        job = self.start_job([*self.lab.home(), cluster.LAUNCH, "--starter", self.lab.ssh, "-H",
                              places, "--server-hostfile", servers, "-s", 2, "--workers", "1:3",
                              "--", losses_test.LOSING, "--until", f"{folder}/stop"])
        for rank in range(3):
            job.expect(rf"\[worker {rank}\] round ", host_losses.PATIENCE, count=2)
        rank = self.dice.randrange(3)
        self.faults.append(f"worker {rank}")
        with contextlib.ExitStack() as undo:
            since = len(job.lines)
            self.cut(host_losses.PLACES[rank], "work", undo)
            job.expect(rf"worker {rank} is lost", host_losses.PATIENCE, since=since)
            since = len(job.lines)
            threading.Event().wait(WATCHED)
        rounds = [at for line, at in zip(job.lines[since:], job.times[since:])
                  if re.match(rf"\[worker {(rank + 1) % 3}\] round ", line)]
        stall = max((later - at for at, later in zip(rounds, rounds[1:])), default=WATCHED)
        if stall > STALL or "wrong:" in job.output():
            raise AssertionError(f"a stall of {stall:.1f} s\n{job.output()}")
        self.kill_all(job)

    def cut(self, near, far, undo):
        kind = self.dice.choice(sorted(self.WAYS))
        ways = self.dice.choice(((near, far), (far, near), None))
        self.faults.append(f"{kind} {ways or 'both ways'}")
        tables_cut = []
        for end, source in ((near, far), (far, near)) if ways is None else (ways,):
            rule = ["INPUT", "-s", self.lab.address(source), *self.WAYS[kind]]
            tables = [*self.lab.inside(end), hosts.program("iptables")]
            hosts.run(*tables, "-I", *rule)
            undo.callback(hosts.run, *tables, "-D", *rule)
            tables_cut.append(tables)
        self.await_effect(tables_cut)

    def await_effect(self, all_tables):
        """Returns once a rule has matched a packet. Acknowledgments alone may be small."""
        until = time.monotonic() + EFFECT
        while time.monotonic() < until:
            for tables in all_tables:
                listed = subprocess.run([*tables, "-nvxL", "INPUT"], capture_output=True,
                                        text=True, check=True).stdout.splitlines()
                if int(listed[2].split()[0]) > 0:
                    return
            threading.Event().wait(0.1)
        raise NoEffect("the cut met no packet")

    def slow_network(self, job, name, _, undo):
        """Limits all outgoing packets of this host to 10 Mbit/s."""
        device = [*self.lab.inside(name), hosts.program("tc"), "qdisc"]
        hosts.run(*device, "add", "dev", "wire", "root", "tbf", "rate", "10mbit", "burst", "16kb",
                  "limit", "256kb")
        undo.callback(hosts.run, *device, "del", "dev", "wire", "root")
