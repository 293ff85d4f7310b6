# SPDX-License-Identifier: Apache-2.0
"""Stands for a Python program that a fork server (fork_server.py) runs: fork_client.py SOCKET
SCRIPT ARGUMENTS..."""

import array
import json
import os
import signal
import socket
import sys

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
             signal.SIGUSR2, signal.SIGABRT)


def main():
    """Hands the program over, and ends as it ends."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.connect(sys.argv[1])
    umask = os.umask(0)
    request = {"arguments": sys.argv[2:], "environment": dict(os.environ), "folder": os.getcwd(),
               "umask": umask}
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    server.sendmsg([json.dumps(request).encode() + b"\n"],
                   [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: server.send(bytes([number])))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    status = int.from_bytes(server.recv(4), "little")
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) in PASSED_ON:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))  # pylint: disable=protected-access


if __name__ == "__main__":
    main()
