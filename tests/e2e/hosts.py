# SPDX-License-Identifier: Apache-2.0
"""Hosts for the launcher's tests: real sshd servers with separate keys and configuration, each in
its own network namespace if this user may make some, else all on loopback. The user's ~/.ssh and
the system's sshd are neither read nor changed.
"""

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import cluster
import lab

PATIENCE = 30.0
HOME_ADDRESS = "10.213.0.1"  # The launching host's; only inside our namespaces.
NETWORK_IPV6 = "fd00:213"
HOME_ADDRESS_IPV6 = f"{NETWORK_IPV6}::1"


# A worker that waits for a notice, reports it, and counts further ones.
NOTICED = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("waits", flush=True)
print("noticed", signal.sigwait([signal.SIGTERM]), flush=True)
print("more", [int(number) for number in signal.sigpending()], flush=True)
sys.exit(3)
"""


def program(name):
    """The path of a program that Debian may keep in /usr/sbin."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise AssertionError(f"{name} is not installed; run tools/install-dependencies --tests")
    return path


def run(*words):
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")


class Daemon:
    """A test's own server, which has reported that it is ready."""

    def __init__(self, command, ready):
        """`ready`: words of that line."""
        self._child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       errors="replace", start_new_session=True)
        said = []
        for line in self._child.stdout:
            said.append(line)
            if ready in line:
                break
        else:
            self._child.wait()
            raise AssertionError(f"{command} does not start: {''.join(said)}")
        # Later output must not fill its pipe.
        self._reader = threading.Thread(target=self._child.stdout.read)
        self._reader.start()

    def end(self):
        """Ends it with its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._reader.join(PATIENCE)
        if not self._reader.is_alive():
            self._child.stdout.close()


def free_port(index):
    """A port below those that the kernel assigns, for servers that cannot choose and report one
    themselves. `index` separates ports requested at about the same time.
    """
    for port in range(22000 + index, 32000, 20):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")


class Lab:
    """Some hosts with sshd, reached by names that only `config` knows. With `ipv6` separate hosts
    have only IPv6 addresses, if the kernel supports it.
    """

    def __init__(self, names, ipv6=False):
        self.names = list(names)
        self.apart = not lab.why_no_lab()
        self.ipv6 = ipv6 and self.apart and pathlib.Path("/proc/net/if_inet6").exists()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stretto-hosts-"))
        self.config = self.folder / "config"
        self._servers = {}
        self._networks = []
        try:
            self._make_keys()
            if self.apart:
                self._make_networks()
            self.ports = {name: self._serve(name, index)
                          for index, name in enumerate(self.names)}
            self._write_config(self.ports)
        except BaseException:
            self.close()
            raise

    @property
    def ssh(self):
        """The command to reach them, for --starter."""
        return f"{program('ssh')} -F '{self.config}'"

    def home(self):
        """Words before a command for the launching host."""
        return self.inside("home")

    def inside(self, name):
        """Words before a command for any host, without an agent."""
        return ["ip", "netns", "exec", self._network(name)] if self.apart else []

    @contextlib.contextmanager
    def without_power(self, name, pids):
        """Drops all traffic of this host, without a reset. If hosts are not separate, these
        processes of it are stopped instead, and resumed at the end.
        """
        home, wire = self._network("home"), f"to{self.names.index(name)}"
        if self.apart:
            run("ip", "-n", home, "link", "set", wire, "nomaster")
            told = subprocess.run(["ip", "-n", home, "link", "show", wire], capture_output=True,
                                  text=True, check=True).stdout
            if "master" in told:
                raise AssertionError(f"host {name} is not cut off: {told}")
        else:
            cluster.strike(pids, signal.SIGSTOP)
        try:
            yield
        finally:
            if self.apart:
                run("ip", "-n", home, "link", "set", wire, "master", "wire")
            else:
                resume(pids)

    def close(self):
        for server in self._servers.values():
            server.end()
        for network in self._networks:
            subprocess.run(["ip", "netns", "del", network], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _network(self, name):
        return f"stretto-{os.getpid()}-{name}"

    def _make_keys(self):
        for name in ["user", *self.names]:
            run(program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", name,
                "-f", self.folder / f"{name}-key")
        shutil.copy(self.folder / "user-key.pub", self.folder / "authorized")

    # A bridge in the launching host's namespace, and a veth pair to each of the others.
    def _make_networks(self):
        home = self._network("home")
        for name in ["home", *self.names]:
            run("ip", "netns", "add", self._network(name))
            self._networks.append(self._network(name))
            run("ip", "-n", self._network(name), "link", "set", "lo", "up")
        run("ip", "-n", home, "link", "add", "wire", "type", "bridge")
        self._add_address(home, HOME_ADDRESS_IPV6 if self.ipv6 else HOME_ADDRESS)
        run("ip", "-n", home, "link", "set", "wire", "up")
        for index, name in enumerate(self.names):
            run("ip", "-n", home, "link", "add", f"to{index}", "type", "veth", "peer", "name",
                "wire", "netns", self._network(name))
            run("ip", "-n", home, "link", "set", f"to{index}", "master", "wire", "up")
            self._add_address(self._network(name), self.address(name))
            run("ip", "-n", self._network(name), "link", "set", "wire", "up")

    def _add_address(self, network, address):
        # No other host has these addresses: skip the kernel's duplicate detection.
        words = [f"{address}/64", "nodad"] if self.ipv6 else [f"{address}/24"]
        run("ip", "-n", network, "addr", "add", *words, "dev", "wire")

    def address(self, name):
        if not self.apart:
            return "127.0.0.1"
        number = self.names.index(name) + 2
        return f"{NETWORK_IPV6}::{number}" if self.ipv6 else f"10.213.0.{number}"

    def _serve(self, name, index):
        """Starts a host's sshd; returns its port."""
        port = 2200 + index if self.apart else free_port(index)
        configuration = self.folder / f"{name}-sshd"
        configuration.write_text(f"""
ListenAddress {self.address(name)}
Port {port}
HostKey {self.folder}/{name}-key
AuthorizedKeysFile {self.folder}/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
MaxStartups 100
""", encoding="ascii")
        if os.geteuid() == 0:
            pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        command = [program("sshd"), "-D", "-e", "-f", str(configuration)]
        if self.apart:
            # With its own host name, by which the launcher tells hosts apart.
            command = ["ip", "netns", "exec", self._network(name), "unshare", "--uts", "sh", "-c",
                       f"hostname {name} && exec \"$@\"", "sh", *command]
        self._servers[name] = Daemon(command, "Server listening")
        return port

    def _write_config(self, ports):
        user = pwd.getpwuid(os.geteuid()).pw_name
        text, known = "", ""
        for name in self.names:
            key = (self.folder / f"{name}-key.pub").read_text(encoding="ascii")
            known += f"[{self.address(name)}]:{ports[name]} {key}"
            text += f"Host {name}\n  HostName {self.address(name)}\n  Port {ports[name]}\n"
        text += f"""Host *
  User {user}
  IdentityFile "{self.folder}/user-key"
  IdentitiesOnly yes
  IdentityAgent none
  GlobalKnownHostsFile none
  UserKnownHostsFile "{self.folder}/known"
  StrictHostKeyChecking yes
  LogLevel ERROR
"""
        self.config.write_text(text, encoding="ascii")
        (self.folder / "known").write_text(known, encoding="ascii")


def processes():
    """Process id to its words, of all processes that this user may look at."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            found[int(entry.name)] = [word.decode(errors="replace") for word in words]
    return found


def agents():
    """Process ids of the agents of this build's launchers."""
    return [pid for pid, words in processes().items()
            if words[:1] == [str(cluster.LAUNCH)] and "--agent" in words]


def await_gone(pids, seconds=PATIENCE):
    """Those of `pids` that still run after `seconds`."""
    watch = cluster.Watch({pid: pid for pid in pids})
    try:
        return sorted(set(pids) - set(watch.ends(seconds)))
    finally:
        watch.close()


def resume(pids):
    """Sends SIGCONT to those of these processes that still exist."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


class FarTest(cluster.ClusterTest):
    """A test whose jobs run behind agents. Afterwards none of these is left."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self._no_agent_left)

    def _no_agent_left(self):
        self.assertEqual(await_gone(agents()), [], "agents outlived their launcher")

    def assert_nobody_left(self):
        """Of the job: at once. Its carrier (srun's second process) may end after it."""
        others = [pid for pid in self.survivors()
                  if "STRETTO_ROLE" not in cluster.variables_of(pid)]
        self.assertEqual(await_gone(others), [], "carriers outlived their job")
        super().assert_nobody_left()

    def start_job(self, command, **variables):
        job = cluster.Launched("job", command, self.environment(**variables))
        self.processes.append(job)
        return job

    def members(self):
        """Name to process id of the processes under the mark of this test, on any host."""
        found = {}
        for pid in self.survivors():
            variables = cluster.variables_of(pid)
            role = variables.get("STRETTO_ROLE")
            if role is not None:
                found[role if role == "scheduler" else f"{role} {variables['STRETTO_RANK']}"] = pid
        return found

    def assert_ended(self, pids):
        self.assertEqual(await_gone(pids), [], "processes outlived their job")
        self.assert_nobody_left()

    def refused(self, job, code, *words, status=1):
        """The job ends with this status and one ERROR line of its launcher's."""
        self.assertEqual(job.end(), status, job.output())
        error = self.one_error(job, code, *words)
        self.assert_nobody_left()
        return error

    def assert_replaced(self, start):
        """`start(program, flags)` starts an elastic job of two workers, of which one is killed and
        replaced."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        until = pathlib.Path(folder.name) / "stop"
        job = start([cluster.BUILD / "tests" / "losing", "--until", until],
                    ["--workers", "1:2", "--restarts", "1"])
        for rank in (0, 1):
            job.expect(rf"\[worker {rank}\] round 10$")
        os.kill(self.members()["worker 1"], signal.SIGKILL)
        job.expect(r"worker 1 .*; the job goes on without it; worker 2 is started for it$")
        job.expect(r"\[worker 2\] newcomers 1 before round \d+: us$")
        job.expect(r"\[worker 2\] round \d+$")
        until.touch()
        self.assertEqual(job.end(), 0, job.output())
        for rank in (0, 2):
            self.assertTrue(any("done rank=" in line for line in job.lines_of(f"worker {rank}")))
        self.assert_nobody_left()

    def assert_noticed_once(self, job):
        """A job of two workers that run NOTICED got SIGTERM, and reports it."""
        self.refused(job, "Interrupted", "after the launcher was sent SIGTERM", status=3)
        for rank in (0, 1):
            self.assertEqual(job.lines_of(f"worker {rank}"), ["waits", "noticed 15", "more []"],
                             job.output())

    def assert_nowhere_in_command_lines(self, secret):
        for pid, words in processes().items():
            self.assertNotIn(secret, " ".join(words), pid)
