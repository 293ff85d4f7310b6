# SPDX-License-Identifier: Apache-2.0
"""Jobs whose workers are Python programs, for the tests in this folder."""

import atexit
import functools
import importlib.util
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import threading
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import cluster  # pylint: disable=wrong-import-position

PACKAGES = pathlib.Path(sysconfig.get_path("platlib"))  # Where pip has installed the wheel.
BASE_PYTHON = pathlib.Path(sys.base_prefix) / "bin/python3"  # Starts faster than a venv's.
TORCH_PATIENCE = 120.0  # Seconds: importing PyTorch takes a while on a busy machine.


def some(*cases, least=2):
    """Selects from a test's cases, each of which starts Python programs that take seconds of all
    processors. Returns the first and the last case, or the first `least`; with STRETTO_TEST_ALL=1
    (`tools/check --all`) all of them."""
    if os.environ.get("STRETTO_TEST_ALL") == "1":
        return cases
    return (cases[0], cases[-1]) if least == 2 else cases[:least]


def one_of(*cases):
    """Like some(), for similar cases: one case, which changes whenever the packages change."""
    if os.environ.get("STRETTO_TEST_ALL") == "1":
        return cases
    turn = 0
    for path in sorted((PACKAGES / "stretto").rglob("*")):
        if path.suffix in (".py", ".so"):
            turn = zlib.crc32(path.read_bytes(), turn)
    return (cases[turn % len(cases)],)


@functools.cache
def fork_servers():
    """The folder with the sockets of this test's two fork servers (fork_server.py), which end with
    the test. Their hash seeds differ, like workers' seeds."""
    folder = tempfile.TemporaryDirectory()
    paths = [pathlib.Path(folder.name) / name for name in ("0", "1")]
    servers = [subprocess.Popen([sys.executable, HERE / "fork_server.py", path],
                                stdin=subprocess.PIPE,
                                env=os.environ | {"OMP_NUM_THREADS": "1",
                                                  "PYTHONHASHSEED": str(1 + number)})
               for number, path in enumerate(paths)]
    for path, server in zip(paths, servers):
        while not path.exists():
            if server.poll() is not None:
                raise RuntimeError(f"fork_server.py ended with {server.returncode}")
            threading.Event().wait(0.01)

    def end():
        for server in servers:
            server.stdin.close()
            server.wait()
        folder.cleanup()
    atexit.register(end)
    return folder.name


def fork(**variables):
    """The command that runs a program in a fork, with these variables in its environment."""
    unused = [name for name in variables if name.startswith(("PYTHON", "OMP_"))]
    if unused:
        raise ValueError(f"{unused} are for an interpreter's start: give forks=False")
    return (BASE_PYTHON, "-IS", HERE / "fork_client.py", fork_servers())


class PythonTest(cluster.ClusterTest):
    """A test that starts Python programs with our packages."""

    def environment(self, **variables):
        usual = {"OMP_NUM_THREADS": 1,
                 "STRETTO_RENDEZVOUS_TIMEOUT_S": int(TORCH_PATIENCE)}
        return super().environment(**usual | variables)

    def python(self, script, *arguments, workers=2, servers=2, flags=(), forks=True, **variables):
        """Starts a job whose workers run a script of this folder: in forks of one interpreter, or
        each in its own, if the test inspects a worker's process."""
        python = fork(**variables) if forks else (sys.executable,)
        return self.launch(*python, HERE / script, *arguments, workers=workers, servers=servers,
                           flags=flags, **variables)

    def forked(self, name, script, *arguments, **variables):
        """Starts a script of this folder outside of any job, in a fork as python() does."""
        return self.start(name, [*fork(**variables), HERE / script, *arguments], **variables)

    @staticmethod
    def process_of(member):
        """The process of a member that python() runs in a fork, for SIGSTOP and SIGCONT, by its
        client's process."""
        while True:
            name = pathlib.Path(f"/proc/{member}/comm").read_text(encoding="ascii")
            if name.startswith("fork "):
                return int(name.removeprefix("fork "))
            threading.Event().wait(0.01)

    def alone(self, *words, **variables):
        """Starts one Python process outside of any job."""
        return self.start("python", [sys.executable, *words], **variables)

    def assert_done(self, job, workers=2, seconds=TORCH_PATIENCE):
        """The job ends without an error, and each worker has printed "done"."""
        self.assertEqual(job.end(seconds), 0, job.output())
        for rank in range(workers):
            self.assertIn("done", job.lines_of(f"worker {rank}"), job.output())
        self.assertEqual(job.errors(), [], job.output())
        self.assert_nobody_left()


def use_packages():
    """Fails unless this process imports our packages from the installed wheel."""
    found = importlib.util.find_spec("stretto")
    if not found or PACKAGES not in pathlib.Path(found.origin).parents:
        raise RuntimeError(f"stretto comes from {found and found.origin}, wanted {PACKAGES}: run "
                           "`ctest -R bindings/`, which installs the wheel and runs these tests")
