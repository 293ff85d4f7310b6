# SPDX-License-Identifier: Apache-2.0
"""Represents a Python program that a fork server (fork_server.py) runs: fork_client.py FOLDER
SCRIPT ARGUMENTS..., where FOLDER has the sockets "0" and "1" of two servers with different hash
seeds: ranks alternate, so that a program cannot rely on one order of hashes."""

import array
import contextlib
import json
import os
import signal
import socket
import sys

MARK = "MARK_OF_STRETTO_TEST"  # cluster.MARK, which takes long to import.
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
             signal.SIGUSR2, signal.SIGABRT)


def pass_on(server, number):
    """Sends the program a signal, unless it has ended."""
    with contextlib.suppress(OSError):
        server.send(bytes([number]))


def number_from(server):
    """The number that the server sends next."""
    answer = server.recv(4)
    if len(answer) != 4:
        sys.exit("fork_client.py: the fork server ended before the program")
    return int.from_bytes(answer, "little")


def name_process(process):
    """The name of this process ends with the program's process (PythonTest.process_of)."""
    with open("/proc/self/comm", "w", encoding="ascii") as name:
        name.write(f"fork {process}")


def main():
    """Hands the program to the server, and ends as the program ends."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    rank = os.environ.get("STRETTO_RANK", os.environ.get("RANK", "0"))
    server.connect(f"{sys.argv[1]}/{int(rank) % 2}")
    umask = os.umask(0)
    request = {"arguments": sys.argv[2:], "environment": dict(os.environ), "folder": os.getcwd(),
               "umask": umask, "mark": os.environ.get(MARK, "")}
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    server.sendmsg([json.dumps(request).encode() + b"\n"],
                   [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: pass_on(server, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    name_process(number_from(server))
    status = number_from(server)
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) in PASSED_ON:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))  # pylint: disable=protected-access


if __name__ == "__main__":
    main()
