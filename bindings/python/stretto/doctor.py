# SPDX-License-Identifier: Apache-2.0
"""python -m stretto.doctor: checks an installation, a host and a cluster, and reports faults.

    python -m stretto.doctor                          this host, and a small job on it
    python -m stretto.doctor --connect HOST:PORT ...  whether these addresses can be reached
    stretto-launch --hostfile F -n 4 -- python -m stretto.doctor --worker
                                                      an exchange between the hosts of a cluster

Each line begins with ok, note or BAD. The exit status is 1 if a line is BAD.
"""

import argparse
import dataclasses
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import time

from stretto import __version__, built, environment, errors, output, roles

_ARGUMENTS = "arguments"
_MISUSED = 2
_NOT_LOADED = 127  # The loader's status where a program lacks a library.
_COLUMNS = 100
_LEAST_FILES = 4096
_LEAST_SHARED = 256 << 20
_CONNECT_S = 3.0
_JOB_S = 60.0
_BYTES = 16 << 20
_REPEATS = 5
_IGNORED = {
    "DMLC_ENABLE_RDMA": "set STRETTO_TRANSPORT=fabric instead",
    "DMLC_ENABLE_UCX": "set STRETTO_TRANSPORT=fabric instead",
    "DMLC_INTERFACE": "set STRETTO_BIND_HOST and STRETTO_NODE_HOST to addresses instead",
    "BYTEPS_PARTITION_BYTES": "set STRETTO_PART_BYTES, the same for every process, instead",
    "BYTEPS_SCHEDULING_CREDIT": "windows follow the link by themselves",
    "BYTEPS_LOG_LEVEL": "set STRETTO_LOG_LEVEL instead",
    "PS_VERBOSE": "set STRETTO_LOG_LEVEL=debug instead",
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """One line of the report."""

    level: str  # ok, note or BAD.
    text: str
    advice: str = ""
    without: str = ""  # What the fault makes unusable.

    def __str__(self):
        return f"{self.level:<5}{self.text}" + (f": {self.advice}" if self.advice else "")


def installation():
    """Versions, and whether module and programs have the same version."""
    yield Finding("ok", f"stretto {__version__}, Python {platform.python_version()} "
                        f"({sys.executable})")
    for name in roles.PROGRAMS.values():
        try:
            path = roles.program(name)
            done = subprocess.run([path, "--version"], capture_output=True, text=True,
                                  timeout=_JOB_S, check=False)
        except errors.Unsupported as error:
            yield Finding("BAD", f"{name} is missing", error.cause)
            continue
        except (OSError, subprocess.TimeoutExpired) as error:
            yield Finding("BAD", f"{name} cannot be run", str(error))
            continue
        if done.returncode == _NOT_LOADED:
            yield Finding("BAD", f"{path} cannot be run: {done.stderr.strip()}", built.remedy())
            continue
        said = done.stdout.strip()
        same = __version__ in said.split()
        yield Finding("ok" if same else "BAD", f"{path}: {said or 'no version'}",
                      "" if same else f"install the version of the module, {__version__}")
    try:
        import torch
        yield Finding("ok", f"torch {torch.__version__}, CUDA "
                            f"{torch.version.cuda or 'not built in'}")
    except ImportError as error:
        yield Finding("note", "torch cannot be imported", f"stretto.torch needs it ({error})",
                      without="stretto.torch, which needs torch")


def store():
    """Whether torch.distributed can create the store for the rendezvous of the ranks."""
    try:
        from stretto.torch.distributed import libuv
    except ImportError:
        return  # Reported above; or this PyTorch has no torch.distributed.
    try:
        missing = libuv.is_missing()
    except RuntimeError as error:
        yield Finding("BAD", f"torch.distributed cannot make a TCPStore ({error})",
                      "init_process_group fails in the same way")
        return
    if not missing:
        yield Finding("ok", "torch.distributed can make a TCPStore")
    elif environment.text("USE_LIBUV") == "1":
        yield Finding("BAD", "USE_LIBUV is 1, and this torch was built without libuv", "unset it")
    else:
        yield Finding("note", "this torch was built without libuv",
                      "importing stretto.torch.distributed sets USE_LIBUV=0, without which "
                      "init_process_group fails; set it for programs that do not import it; "
                      "torchrun does not start")


def variables(given):
    """The settings of the environment, and variables that will be ignored."""
    try:
        place = environment.place()
        if place.alone:
            notes = []
            environment.check_alone(notes.append)
            yield Finding("note" if notes else "ok", "no job is named: a program started like "
                          "this is a job of one", "".join(notes))
        else:
            yield Finding("ok", f"a job of {place.size} workers and {place.servers} servers; its "
                                f"scheduler is at {place.scheduler or 'no address'}")
    except errors.InvalidArgument as error:
        yield Finding("BAD", "the environment makes no sense", error.cause)
    for name in sorted(given):
        if name in _IGNORED:
            yield Finding("note", f"{name} is not read", _IGNORED[name])


def limits():
    """The resource limits of a process on this host."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = hard == resource.RLIM_INFINITY or hard >= _LEAST_FILES
    yield Finding("ok" if enough else "BAD", f"open files: {soft}, can be raised to {hard}",
                  "" if enough else f"raise the hard limit to {_LEAST_FILES} (ulimit -Hn)")
    try:
        free = shutil.disk_usage("/dev/shm").free
        enough = free >= _LEAST_SHARED
        yield Finding("ok" if enough else "BAD", f"/dev/shm: {free >> 20} MiB are free",
                      "" if enough else "make it larger (docker run --shm-size=1g), or set "
                                        "STRETTO_TRANSPORT=tcp")
    except OSError as error:
        yield Finding("note", f"/dev/shm cannot be used ({error})",
                      "processes of one host will use TCP; set STRETTO_TRANSPORT=tcp")
    yield Finding("ok", f"{len(os.sched_getaffinity(0))} processors may be used")


def network():
    """Name and addresses of this host."""
    name = socket.gethostname()
    try:
        found = sorted({item[4][0] for item in socket.getaddrinfo(name, None)})
    except OSError as error:
        yield Finding("note", f"this host's name, {name}, cannot be resolved ({error})",
                      "in jobs over several hosts set STRETTO_NODE_HOST to an address of it")
        return
    remote = [address for address in found if not address.startswith("127.") and address != "::1"]
    yield Finding("ok" if remote else "note", f"{name} is {', '.join(found)}",
                  "" if remote else "that is loopback alone; in jobs over several hosts set "
                                    "STRETTO_NODE_HOST to an address that the others can reach")


def reach(address):
    """Whether a TCP connection to host:port can be made."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        yield Finding("BAD", f"'{address}' is no address", "wanted host:port")
        return
    started = time.monotonic()
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S):
            took = (time.monotonic() - started) * 1000
        yield Finding("ok", f"{address} can be reached, in {took:.1f} ms")
    except (OSError, OverflowError, UnicodeError) as error:
        yield Finding("BAD", f"{address} cannot be reached ({error})",
                      "is something listening there, does the name mean that host here, does a "
                      "firewall keep the port closed?")


def small_job():
    """A job of two workers and a server on this host."""
    try:
        launcher = roles.program(roles.PROGRAMS["launcher"])
    except errors.Unsupported:
        return  # Reported above.
    given = {name: value for name, value in os.environ.items()
             if not name.startswith(("DMLC_", "BYTEPS_"))
             and name not in ("STRETTO_SCHEDULER", "STRETTO_RANK", "STRETTO_WORLD_SIZE",
                              "STRETTO_SERVERS", "STRETTO_ROLE")}
    command = [launcher, "--via", "local", "--workers", "2", "--servers", "1", "--", sys.executable,
               "-m", "stretto.doctor", "--worker"]
    try:
        done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=_JOB_S,
                              check=False)
    except subprocess.TimeoutExpired:
        yield Finding("BAD", f"a small job has not ended in {_JOB_S:.0f} s", "run it by hand: "
                      + " ".join(command))
        return
    for line in done.stdout.splitlines():
        if "] exchange " in line:
            yield Finding("ok", "a small job on this host: " + line.split("] ", 1)[1])
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if "ERROR" in line]
        yield Finding("BAD", f"a small job ended with status {done.returncode}",
                      said[-1] if said else done.stderr.strip()[-400:])


def work():
    """A worker of the small job: exchanges memory, checks the sum and prints the speed."""
    from stretto import session
    session.begin(lazy=False)
    now = session.current()
    if now.alone:
        raise errors.InvalidArgument("--worker is for stretto-launch to start, with a job")
    tensor = now.declare("doctor", "u8", _BYTES)
    data = bytearray([1]) * _BYTES
    address = _address_of(data)
    times = []
    for _ in range(_REPEATS):
        data[:] = bytes([1]) * _BYTES
        started = time.monotonic()
        now.push_pull([(tensor, address, address, _BYTES)], 0, data).wait()
        times.append(time.monotonic() - started)
    right = data == bytes([now.size % 256]) * _BYTES
    print(f"exchange worker {now.rank} of {now.size} on {socket.gethostname()}: sums are "
          f"{'right' if right else 'WRONG'}, {_BYTES / sorted(times)[_REPEATS // 2] / 1e9:.2f} "
          f"GB/s, joined in {now.joined_in_s:.2f} s", flush=True)
    session.end()
    return 0 if right else 1


def _address_of(data):
    import ctypes
    return ctypes.addressof((ctypes.c_char * len(data)).from_buffer(data))


def _printed(findings):
    for finding in findings:
        print(finding, flush=True)
        yield finding


def _verdict(findings):
    """The last line. Everything else has been printed."""
    if any(finding.level == "BAD" for finding in findings):
        return "something must be fixed"
    lacking = [finding.without for finding in findings if finding.without]
    return "all is well" + "".join(f", but for {what}" for what in lacking)


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line, like every program of a job."""

    def error(self, message):
        readable = os.fsencode(message).decode("utf-8", "backslashreplace")
        raise errors.InvalidArgument(f"{readable}; --help says more",
                                     operation=_ARGUMENTS)


def _parser():
    parser = _Parser(
        prog="stretto-doctor", usage="stretto-doctor [FLAG]...", add_help=False, allow_abbrev=False,
        description="Looks at an installation, a host and a cluster, and says what to fix.\n"
                    "Each line begins with ok, note or BAD. The exit status is 1 if one is BAD.",
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
            prog, width=_COLUMNS, max_help_position=_COLUMNS // 3))
    flags = parser.add_argument_group("flags")
    flags.add_argument("--connect", nargs="+", default=[], metavar="HOST:PORT",
                       help="look whether these addresses can be reached from here, too")
    flags.add_argument("--no-job", action="store_true", help="do not run the small job")
    flags.add_argument("--worker", action="store_true",
                       help="be a worker of a job that measures exchanges between hosts: "
                       "stretto-launch --hostfile FILE -n 4 -- stretto-doctor --worker")
    flags.add_argument("--help", "-h", action="help", help="say this")
    flags.add_argument("--version", action="version", help="say which version this is",
                       version=f"stretto-doctor {__version__}")
    return parser


def run(arguments=None):
    """Runs the command line; returns the exit status."""
    chosen = _parser().parse_args(arguments)
    if chosen.worker:
        return work()
    found = [*_printed(installation()), *_printed(store()), *_printed(variables(os.environ)),
             *_printed(limits()), *_printed(network())]
    for address in chosen.connect:
        found += _printed(reach(address))
    if not chosen.no_job:
        found += _printed(small_job())
    print(_verdict(found))
    return int(any(finding.level == "BAD" for finding in found))


def _status():
    """Returns the status of `run`; prints an error as one line."""
    try:
        return run()
    except errors.Error as error:
        print(f"ERROR {error.code} role=doctor rank=- peer={error.peer or '-'} "
              f"op={error.operation or '-'} cause={error.cause}", file=sys.stderr)
        return _MISUSED if error.operation == _ARGUMENTS else 1


def main():
    """The program."""
    sys.exit(output.told(_status, "doctor"))


if __name__ == "__main__":
    main()
