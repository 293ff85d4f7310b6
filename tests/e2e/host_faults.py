# SPDX-License-Identifier: Apache-2.0
"""Faults of one host of a job, or of its network, for the campaign of `tools/chaos kinds`."""

import contextlib
import re
import signal
import subprocess
import threading

import cluster
import host_losses
import hosts

PAUSES = (1.5, 4.5)  # Below STRETTO_DEAD_AFTER_S, which is 5 s: no member is lost.
KINDS = ("agent_killed", "agent_stopped", "agent_told", "off", "off_for_a_time",
         "cut_from_worker", "cut_from_server", "slow_network")


class HostTrial(host_losses.HostsLost):
    """One job over hosts, and what befalls the host of a server and of a standby, or its network.
    All workers go on."""

    WAYS = {"drop": ("-j", "DROP"),
            "large": ("-m", "length", "--length", "577:65535", "-j", "DROP"),
            "reset": ("-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset")}

    def runTest(self):
        """Not run as a test."""

    def setUp(self):
        super().setUp()
        self.faults = []

    def one(self, kind):
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
        """Some or all packets between the workers and this host, in one direction or both."""
        self.cut(name, "work", undo)

    def cut_from_server(self, job, name, _, undo):
        far = self.dice.choice([place for place in host_losses.PLACES if place != name])
        self.cut(name, far, undo)

    def cut(self, near, far, undo):
        kind = self.dice.choice(sorted(self.WAYS))
        ways = self.dice.choice(((near, far), (far, near), None))
        self.faults.append(f"{kind} {ways or 'both ways'}")
        for end, source in ((near, far), (far, near)) if ways is None else (ways,):
            rule = ["INPUT", "-s", self.lab.address(source), *self.WAYS[kind]]
            tables = [*self.lab.inside(end), hosts.program("iptables")]
            hosts.run(*tables, "-I", *rule)
            undo.callback(hosts.run, *tables, "-D", *rule)
            undo.callback(self.dropped, tables)

    def dropped(self, tables):
        """Raises unless the rule has met a packet: a fault without an effect tests nothing."""
        listed = subprocess.run([*tables, "-nvxL", "INPUT"], capture_output=True, text=True,
                                check=True).stdout.splitlines()
        if int(listed[2].split()[0]) == 0:
            raise AssertionError(f"the cut met no packet: {listed}")

    def slow_network(self, job, name, _, undo):
        """All that leaves this host goes at 10 Mbit/s."""
        device = [*self.lab.inside(name), hosts.program("tc"), "qdisc"]
        hosts.run(*device, "add", "dev", "wire", "root", "tbf", "rate", "10mbit", "burst", "16kb",
                  "limit", "256kb")
        undo.callback(hosts.run, *device, "del", "dev", "wire", "root")
