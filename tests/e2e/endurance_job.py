# SPDX-License-Identifier: Apache-2.0
"""The processes of an elastic job under faults (endurance.py): under the launcher on this host,
over a relay in user space, or on hosts in network namespaces; and their output.
"""

import contextlib
import pathlib
import threading
import time

import cluster
import relay

ENDURING = cluster.BUILD / "tests" / "enduring"
PAUSES = threading.Event()  # Never set: polls all output after a moment.
HANG = 40.0  # Seconds without a step, or without an end, that count as a hang.
MOST_NUMBERS = 63  # Total number of workers.
LEDGER_BYTES = 64 * 32
TOKEN = "endurance of this lab"


class Broken(AssertionError):
    """A violation of the job's contract."""


class Job(cluster.ClusterTest):
    """A plan's processes, for every kind of start."""

    def __init__(self, plan, log_level):
        super().__init__()
        self.plan = plan
        self.log_level = log_level
        self.first_names = [f"worker {rank}" for rank in range(plan.workers)]
        self.names = list(self.first_names)

    def runTest(self):
        """Not run as a test."""

    def begin(self, folder, network):
        """Starts it, and waits until it trains."""
        self.folder = pathlib.Path(folder)
        (self.folder / "ledger").write_bytes(bytes(LEDGER_BYTES))
        self.relay = self.launcher = None
        self.network = network
        if self.plan.place == "local":
            self._launch()
        else:
            self._start_by_hand()
        if self.launcher is not None:
            self.launcher.expect(r"\[worker \d+\] round ", HANG, count=self.plan.workers)
            self.pids = self.launcher.members()
            self._shared = {"STRETTO_TRANSPORT": self.plan.transport,
                            "STRETTO_LOG_LEVEL": self.log_level}
            self._address_of_scheduler = cluster.variables_of(
                self.pids["worker 0"])["STRETTO_SCHEDULER"]
        for rank in range(self.plan.workers):
            self.await_rounds(f"worker {rank}", 1)

    def program(self, rank):
        return [ENDURING, "--until", self.folder / "until", "--ledger", self.folder / "ledger",
                "--commits", self.folder / f"commits-{rank}", "--modes",
                ",".join(self.plan.modes), "--elements", self.plan.elements]

    def _launch(self):
        plan = self.plan
        shell = ["/bin/sh", "-c", 'exec "$@" --commits ' + str(self.folder) +
                 "/commits-$STRETTO_RANK", "-", *self.program("x")]
        restarts = ("--restarts", plan.restarts) if plan.restarts else ()
        self.launcher = self.launch(*shell, workers=f"{plan.least}:{plan.workers}", flags=restarts,
                                    servers=plan.servers, STRETTO_TRANSPORT=plan.transport,
                                    STRETTO_LOG_LEVEL=self.log_level)

    # Scheduler, servers and workers one by one: over a relay, or on their own hosts.
    def _start_by_hand(self):
        plan = self.plan
        shared = {"STRETTO_WORLD_SIZE": plan.workers, "STRETTO_SERVERS": plan.servers,
                  "STRETTO_MIN_WORKERS": plan.least, "STRETTO_TRANSPORT": plan.transport,
                  "STRETTO_JOB_TOKEN": TOKEN, "STRETTO_LOG_LEVEL": self.log_level}
        server = {}
        if plan.place == "relay":
            self.relay = relay.Relay(plan.number)
            self.addCleanup(self.relay.close)
            shared |= {"STRETTO_NODE_HOST": relay.HOST, "STRETTO_CHECKSUMS": "all"}
            server = {"STRETTO_BIND_HOST": "127.0.0.1", "STRETTO_LOG_LEVEL": "debug"}
        else:
            shared |= {"STRETTO_BIND_HOST": "0.0.0.0"}
        scheduler = self._start_one("scheduler", [cluster.SCHEDULER], shared | {
            "STRETTO_SCHEDULER": f"{self._address('scheduler')}:0"})
        host, port = cluster.address_of(scheduler)
        address = f"{host}:{port}" if self.relay is None else self.relay.route(port)
        shared["STRETTO_SCHEDULER"] = address
        self._address_of_scheduler = address
        for rank in range(plan.servers):
            process = self._start_one(f"server {rank}", [cluster.SERVER],
                                      shared | server | {"STRETTO_RANK": rank})
            if self.relay is not None:
                self.relay.route(cluster.address_of(process)[1])
        if self.relay is not None:  # It has no route to workers, which connect to one another.
            shared["STRETTO_NODE_HOST"] = "127.0.0.1"
        self._shared = shared
        for rank in range(plan.workers):
            self._start_one(f"worker {rank}", self.program(rank), shared | {"STRETTO_RANK": rank})
        self.pids = {process.name: process.pid for process in self.processes}

    def _host(self, name):
        if name == "scheduler":
            return "scheduler"
        alone = {"server 0": "server", f"worker {self.plan.host_of}": "worker"}
        return alone.get(name, "others")

    def _address(self, name):
        return self.network.address(self._host(name)) if self.plan.place == "net" else "127.0.0.1"

    def _start_one(self, name, command, variables):
        if self.plan.place == "net":
            command = [*self.network.at(self._host(name)), *command]
            variables = variables | {"STRETTO_NODE_HOST": self._address(name)}
        return self.start(name, command, **variables)

    # ---- joining workers

    def start_newcomer(self):
        """The name of a worker that joins by the launcher's command, under the next number."""
        number = max(int(name.split()[1]) for name in self.names) + 1
        name = f"worker {number}"
        command = [cluster.LAUNCH, "join", self._address_of_scheduler, "--", "/usr/bin/env",
                   f"STRETTO_RANK={number}", f"STRETTO_RESTARTS={MOST_NUMBERS}",
                   *self.program(number)]
        if self.launcher is None:
            process = self._start_one(name, command, self._shared)
        else:
            process = self.start(name, command, **self._shared)
        self.names.append(name)
        self.pids[name] = process.pid
        return name

    def find_newcomers(self):
        """Names of the workers that the launcher has started since the last call."""
        if self.launcher is None or not self.plan.restarts:
            return []
        found = {name: pid for name, pid in self.launcher.members().items()
                 if name.startswith("worker ") and name not in self.names}
        self.names += found
        self.pids |= found
        return list(found)

    # ---- their output

    def said(self, name):
        """(Time, line) of a member."""
        process = next((one for one in self.processes if one.name == name), None)
        if process is None:
            prefix = f"[{name}] "
            return [(at, line[len(prefix):]) for at, line in
                    zip(list(self.launcher.times), list(self.launcher.lines))
                    if line.startswith(prefix)]
        return list(zip(list(process.times), list(process.lines)))

    def rounds(self, name):
        return sum(line.startswith("round ") for _, line in self.said(name))

    def ended(self, name):
        """True if a member's process has ended."""
        with contextlib.suppress(OSError):
            state = pathlib.Path(f"/proc/{self.pids[name]}/stat").read_text(encoding="ascii")
            return state.rsplit(")", 1)[1].split()[0] in "ZX"
        return True

    def await_rounds(self, name, count):
        """Waits for `count` times the number of rounds between two lines."""
        until = time.monotonic() + HANG
        while self.rounds(name) < count:
            self.check_words([name])
            if self.ended(name) and self.rounds(name) < count:
                raise Broken(f"{name} has ended: {[line for _, line in self.said(name)][-1:]}")
            if time.monotonic() > until:
                raise Broken(f"hang: {name} makes no rounds")
            PAUSES.wait(0.01)

    def check_words(self, alive):
        """Checks that no output reports a wrong value, and none of these reports its own loss."""
        for name in self.names:
            for _, line in self.said(name):
                if line.startswith("wrong:"):
                    raise Broken(f"{name}: {line}")
                if line.startswith("ERROR") and name in alive:
                    raise Broken(f"wrong name: {name} is lost: {line}")

    def sizes(self, names):
        """(Time, size) of the views that these have received."""
        return sorted((at, int(line.rsplit("size=", 1)[1])) for name in names
                      for at, line in self.said(name) if line.startswith("view "))

    def commits(self, rank):
        path = self.folder / f"commits-{rank}"
        return [float(line) for line in path.read_text(encoding="ascii").split()
                ] if path.exists() else []
