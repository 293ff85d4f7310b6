# SPDX-License-Identifier: Apache-2.0
"""Hosts around a switch, each with its own shaped link: network namespaces, as `stretto-bench
--lab_mbit` makes them (tools/bench/support/lab_plan.cc), for external programs."""

import os
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[2] / "build/bin/stretto-bench"
OPEN = ["ip", "netns", "exec"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"compare: `{' '.join(command)}`: {done.stderr.strip()}; making hosts needs root")


class Star:
    """`hosts` hosts with links of this rate, until close(). With a delay, packets from each host
    take that long: a process of stretto-bench carries them (tools/bench/support/lab_delay.h), since
    not every kernel has netem."""

    def __init__(self, hosts, rate_mbit, delay_s=0.0):
        self.carrier = None
        prefix = f"stretto-{os.getpid()}-"
        self.switch = prefix + "switch"
        self.names = [f"{prefix}{number}" for number in range(hosts)]
        self.hosts = [f"10.78.0.{number + 1}" for number in range(hosts)]
        try:
            self.make(rate_mbit)
            if delay_s > 0:
                self.lengthen(delay_s)
        except BaseException:
            self.close()
            raise

    def make(self, rate_mbit):
        burst = min(max(rate_mbit * (128 << 10) // 1000, 66 << 10), 256 << 10)
        limit = min(max(rate_mbit * 4000, 256_000), 40_000_000)
        run("ip", "netns", "add", self.switch)
        run("ip", "-n", self.switch, "link", "add", "bridge0", "type", "bridge")
        run("ip", "-n", self.switch, "link", "set", "bridge0", "up")
        for number, (name, host) in enumerate(zip(self.names, self.hosts)):
            port = f"port{number}"
            run("ip", "netns", "add", name)
            run("ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", port,
                "netns", self.switch)
            run("ip", "-n", self.switch, "link", "set", port, "master", "bridge0", "up")
            for where, device in ((name, "eth0"), (self.switch, port)):
                run("ip", "-n", where, "link", "set", device, "up")
                run("tc", "-n", where, "qdisc", "add", "dev", device, "root", "tbf", "rate",
                    f"{rate_mbit}mbit", "burst", str(burst), "limit", str(limit))
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "-n", name, "addr", "add", f"{host}/24", "dev", "eth0")
            run("ip", "-n", name, "route", "change", "10.78.0.0/24", "dev", "eth0", "congctl",
                "cubic")

    def lengthen(self, delay_s):
        """Puts a tap in place of each host's cable at the switch."""
        cables = []
        for number in range(len(self.names)):
            port, tap = f"port{number}", f"tap{number}"
            run("ip", "-n", self.switch, "link", "set", port, "nomaster")
            run("ip", "-n", self.switch, "tuntap", "add", "dev", tap, "mode", "tap", "vnet_hdr")
            run("ip", "-n", self.switch, "link", "set", tap, "master", "bridge0")
            run("ip", "-n", self.switch, "link", "set", tap, "up")
            cables.append(f"{port}:{tap}")
        self.carrier = subprocess.Popen(
            [BENCH, "delay-role", self.switch, str(delay_s), *cables], stdout=subprocess.PIPE,
            text=True)
        if self.carrier.stdout.readline() != "ready\n":
            sys.exit("compare: the links' delays could not be made; what went wrong is said above")

    def at(self, number):
        """Returns the prefix of a command that runs on this host."""
        return [*OPEN, self.names[number]]

    def close(self):
        if self.carrier is not None:
            self.carrier.kill()
            self.carrier.wait()
            self.carrier.stdout.close()
        for name in [*self.names, self.switch]:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)
