# SPDX-License-Identifier: Apache-2.0
"""Runs Python programs in forks of one interpreter that has imported PyTorch, which takes a second
of a processor otherwise.

    fork_server.py SOCKET

fork_client.py represents such a program in a job: it passes its arguments, environment, folder and
standard streams, and ends as the program ends. The client forwards signals, all but SIGSTOP: its
name ends with the id of the process to stop. If the client ends first, the server kills the
program's process group. The name of a fork's main thread begins with the mark of its test
(cluster.MARK).
"""

import array
import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import sys

STREAMS = 3
MOST_BYTES = 1 << 20
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15


class Program:
    """A program that runs, and the connection of its client."""

    def __init__(self, connection):
        self.connection = connection
        self.process = None

    def request(self):
        """The client's words and streams."""
        text, streams = b"", []
        while not text.endswith(b"\n"):
            piece, ancillary, _, _ = self.connection.recvmsg(MOST_BYTES,
                                                             socket.CMSG_SPACE(STREAMS * 4))
            if not piece:
                raise EOFError
            text += piece
            for _, _, data in ancillary:
                streams += array.array("i", data)
        return json.loads(text), streams

    def take_signals(self):
        """Forwards signals. False if the client has ended: then the program ends, too."""
        with contextlib.suppress(OSError):
            if numbers := self.connection.recv(64):
                for number in numbers:
                    os.kill(self.process, number)
                return True
        self.kill()
        return False

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)

    def tell_process(self):
        with contextlib.suppress(OSError):
            self.connection.sendall(self.process.to_bytes(4, "little"))

    def end(self, status):
        """Reports the wait status of the ended program."""
        with contextlib.suppress(OSError):
            self.connection.sendall(status.to_bytes(4, "little"))
        self.connection.close()


class Server:
    """run() returns only in a fork, with the fork's request."""

    def __init__(self, path):
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path + ".new")
        self.listener.listen(64)
        os.rename(path + ".new", path)  # Clients find it once it listens.
        self.wakes, wake = socket.socketpair()
        wake.setblocking(False)
        self.wake = wake
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno())
        for source in (self.listener, self.wakes, sys.stdin):
            self.selector.register(source, selectors.EVENT_READ)
        self.programs = {}

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    connection, _ = self.listener.accept()
                    if request := self.begin(Program(connection)):
                        return request
                elif key.fileobj is sys.stdin:  # The test has ended.
                    for program in self.programs.values():
                        program.kill()
                    sys.exit()
                elif key.fileobj is self.wakes:
                    self.wakes.recv(4096)
                    self.reap()
                elif key.data.process in self.programs and not key.data.take_signals():
                    self.selector.unregister(key.fileobj)

    def begin(self, program):
        try:
            request, streams = program.request()
        except (OSError, EOFError, ValueError):
            program.connection.close()
            return None
        program.process = os.fork()
        if program.process == 0:
            self.leave()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            return request
        for stream in streams:
            os.close(stream)
        with contextlib.suppress(OSError):  # The fork does the same; the first call counts.
            os.setpgid(program.process, program.process)
        program.tell_process()
        self.programs[program.process] = program
        self.selector.register(program.connection, selectors.EVENT_READ, program)
        return None

    def leave(self):
        """Drops the server's state in a fork."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.selector.close()
        for program in self.programs.values():
            program.connection.close()
        for end in (self.listener, self.wakes, self.wake):
            end.close()

    def reap(self):
        with contextlib.suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if process == 0:
                    return
                program = self.programs.pop(process)
                with contextlib.suppress(KeyError):
                    self.selector.unregister(program.connection)
                program.end(status)


def become(request):
    """Sets up this process by the request, up to the start of its script."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    prctl(PR_SET_NAME, request["mark"].encode(), 0, 0, 0)
    os.setpgid(0, 0)
    os.chdir(request["folder"])
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[:] = request["arguments"]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    if "PYTHONPATH" in os.environ:
        sys.path[1:1] = os.environ["PYTHONPATH"].split(os.pathsep)
    numpy.random.seed()


if __name__ == "__main__":
    import gc

    import numpy
    import torch  # pylint: disable=unused-import

    # A fork neither visits nor copies earlier objects, which halves the time of its end.
    gc.freeze()
    become(Server(sys.argv[1]).run())
    with open(sys.argv[0], "rb") as script:
        code = compile(script.read(), sys.argv[0], "exec", dont_inherit=True)
    for name in [name for name in globals() if not name.startswith("__") and name != "code"]:
        del globals()[name]
    __file__ = code.co_filename
    __doc__ = None
    exec(code)  # pylint: disable=exec-used
