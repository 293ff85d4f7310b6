# SPDX-License-Identifier: Apache-2.0
"""Hosts around a switch, each with a shaped link of its own: network namespaces, as `stretto-bench
--lab_mbit` makes them (tools/bench/lab_plan.cc), for programs that are not ours."""

import os
import subprocess
import sys

OPEN = ["ip", "netns", "exec"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"compare: `{' '.join(command)}`: {done.stderr.strip()}; making hosts needs root")


class Star:
    """So many hosts with links of this rate; they end with close()."""

    def __init__(self, hosts, rate_mbit):
        prefix = f"stretto-{os.getpid()}-"
        self.switch = prefix + "switch"
        self.names = [f"{prefix}{number}" for number in range(hosts)]
        self.hosts = [f"10.78.0.{number + 1}" for number in range(hosts)]
        try:
            self.make(rate_mbit)
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

    def at(self, number):
        """What runs a command at this host."""
        return [*OPEN, self.names[number]]

    def close(self):
        for name in [*self.names, self.switch]:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)
