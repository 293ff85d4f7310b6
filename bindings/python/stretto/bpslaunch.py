# SPDX-License-Identifier: Apache-2.0
"""bpslaunch: BytePS's launcher. One call starts this host's processes by DMLC_ROLE: the scheduler,
a server, or BYTEPS_LOCAL_SIZE workers. Without DMLC_ROLE it runs stretto-launch, which starts a
whole job.
"""

import os
import signal
import subprocess
import sys

from stretto import environment, errors, output, roles

_NEEDED = ("DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT", "DMLC_NUM_WORKER", "DMLC_NUM_SERVER")
_USAGE = """usage: bpslaunch PROGRAM [ARGUMENT]...   with DMLC_ROLE=worker
       bpslaunch                         with DMLC_ROLE=scheduler or server
       bpslaunch ARGUMENT...             without DMLC_ROLE: the same as stretto-launch

Starts what this host runs of a job, as BytePS's launcher of this name does. The exit status is
that of the first worker that fails.

what it reads of the environment
  DMLC_ROLE           worker, server or scheduler: what this host runs
  DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT
                      where the scheduler listens
  DMLC_NUM_WORKER, DMLC_NUM_SERVER
                      of the whole job
  DMLC_WORKER_ID      which of the hosts with workers this is, from 0 on
  STRETTO_JOB_TOKEN   over hosts: a secret of the job, the same for all its processes; made once,
                      as by: openssl rand -hex 16
  BYTEPS_LOCAL_SIZE   workers of this host (default: one for each GPU that
                      NVIDIA_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES names, or one)
  BYTEPS_TRACE_ON, BYTEPS_TRACE_DIR
                      1: folders for the traces of this host's workers are made there

flags
  --help, -h          say this
"""
_MISUSED = 2
_PASSED_ON = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_BY_KERNEL = 0x80  # SI_KERNEL, which Python has no name for.


def _local_size():
    """Number of workers of this host: BYTEPS_LOCAL_SIZE, else one for each visible GPU."""
    devices = environment.text("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    visible = len(devices.split(",")) if devices and devices not in ("all", "none", "void") else 1
    return environment.number("BYTEPS_LOCAL_SIZE", default=visible, least=1)


def _require(names):
    missing = [name for name in names if not environment.text(name)]
    if missing:
        raise errors.InvalidArgument(
            f"{', '.join(missing)} must be set for DMLC_ROLE={environment.text('DMLC_ROLE')}")


def _run_workers(command):
    """Runs the workers of this host; returns the exit status of the first that fails."""
    _require((*_NEEDED, "DMLC_WORKER_ID"))
    size = _local_size()
    # Sets torchrun's name too: the value of a launcher around this one would count other workers.
    for name in ("BYTEPS_LOCAL_SIZE", "LOCAL_WORLD_SIZE"):
        environment.give(name, size)
    environment.give("PYTHONUNBUFFERED", 1)
    # Signals are blocked before the first worker starts, so that no signal ends this launcher and
    # leaves workers behind.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    blocked_before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON | {signal.SIGCHLD})
    print("BytePS launching worker", flush=True)
    if size > 1 and environment.is_single_by_byteps():
        print(f"bpslaunch: {size} workers of one host meet at a scheduler and a server too, which "
              "end at once without BYTEPS_FORCE_DISTRIBUTED=1; set it for all three, or start with "
              f"'stretto-launch -n {size} -s 1 -- PROGRAM'", file=sys.stderr, flush=True)
    workers = _Workers()
    try:
        for rank in range(size):
            for name in ("BYTEPS_LOCAL_RANK", "LOCAL_RANK"):
                environment.give(name, rank)
            trace = environment.text("BYTEPS_TRACE_DIR", default=".")
            if environment.truth("BYTEPS_TRACE_ON"):
                os.makedirs(os.path.join(trace, str(rank)), exist_ok=True)
            workers.start(rank, command, blocked_before)
        return workers.wait()
    finally:
        workers.end()


class _Workers:
    """The workers of this host. The launcher has blocked SIGCHLD and the signals to pass on."""

    def __init__(self):
        self._running = {}  # Rank and process, by process id.

    def start(self, rank, command, blocked):
        """Starts the worker of this local rank, which has these signals blocked."""
        # The launcher has no other thread, so its code may run in the child before exec.
        child = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            command, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, blocked))
        self._running[child.pid] = rank, child

    def wait(self):
        """Waits until all workers have ended; returns the status of the first that fails."""
        first = 0
        while self._running:
            heard = signal.sigwaitinfo(_PASSED_ON | {signal.SIGCHLD})
            if heard.si_signo == signal.SIGCHLD:
                first = self._reap(first)
            else:
                # A terminal sends SIGINT to its foreground group, and SIGHUP to this process alone.
                is_key = heard.si_signo == signal.SIGINT and heard.si_code == _BY_KERNEL
                self._send(heard.si_signo, os.getpgrp() if is_key else None)
        return first

    def end(self):
        """Ends the running workers, for example after a worker that could not be started."""
        self._send(signal.SIGTERM)
        for _, child in self._running.values():
            child.wait()

    def _send(self, number, told_group=None):
        # Signals all workers outside the process group that has the signal already. Only _reap()
        # waits for workers, so each of these process ids still belongs to its worker.
        for pid in self._running:
            if told_group is None or os.getpgid(pid) != told_group:
                os.kill(pid, number)

    def _reap(self, first):
        for pid, code in _ended_children():
            if pid not in self._running:
                continue  # An orphan that process 1 of a container adopts.
            rank, child = self._running.pop(pid)
            child.returncode = code
            if code == 0:
                print(f"BytePS launcher: joined local rank  {rank}", flush=True)
            elif first == 0:
                # The scheduler reports the failure to its peers, which end with their own error.
                first = code if code > 0 else 128 - code
                error = "ProgramFailed" if code > 0 else "PeerLost"
                print(f"ERROR {error} role=launcher rank=- peer=worker op=run cause=local rank "
                      f"{rank} exited with status {first}", file=sys.stderr, flush=True)
        return first


def _ended_children():
    """Process id and exit code of each child that has ended, which this call removes."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def run(arguments):
    """Runs `bpslaunch ARGUMENTS`; returns the exit status."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(_USAGE, end="")
        return 0
    role = environment.text("DMLC_ROLE")
    if not role:
        path = roles.program(roles.PROGRAMS["launcher"])
        os.execv(path, [path, *arguments])
    if role == "worker":
        if not arguments:
            raise errors.InvalidArgument("no program was given to run as a worker")
        return _run_workers(arguments)
    _require(_NEEDED)
    if environment.number("DMLC_NUM_WORKER", default=1) <= 1 and not environment.truth(
            "BYTEPS_FORCE_DISTRIBUTED"):
        return 0  # A single worker needs no scheduler or server.
    roles.become(roles.role_from_environment())
    return 0


def _status():
    """Returns the status of `run`. An error prints one line and selects the exit status."""
    try:
        return run(sys.argv[1:])
    except errors.Error as error:
        print(f"ERROR {error.code} role=launcher rank=- peer=- op=bpslaunch cause={error.cause}",
              file=sys.stderr)
        return _MISUSED
    except OSError as error:
        if error.filename is None:
            raise  # Writing our own output failed.
        print(f"ERROR InvalidArgument role=launcher rank=- peer=- op=bpslaunch cause={error}",
              file=sys.stderr)
        return 127


def main():
    """The program."""
    sys.exit(output.told(_status, "launcher"))


if __name__ == "__main__":
    main()
