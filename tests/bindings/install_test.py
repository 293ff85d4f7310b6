# SPDX-License-Identifier: Apache-2.0
"""`pip install ./bindings/python`, and its result: packages, programs, and a doctor."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jobs

DOCTOR = "stretto.doctor"
INSTALLED = pathlib.Path(sys.executable).parent
METADATA = ("import importlib.metadata, json; "
            "print(json.dumps(importlib.metadata.metadata('stretto').json))")


class Install(jobs.PythonTest):

    def run_installed(self, program, *words):
        """Runs an installed program, without variables that name a program."""
        variables = self.environment()
        for name in ("PYTHONPATH", "STRETTO_BIN_DIR"):
            variables.pop(name, None)
        return subprocess.run([str(INSTALLED / program), *map(str, words)], env=variables,
                              cwd="/", capture_output=True, text=True, check=False,
                              timeout=10 * jobs.cluster.PATIENCE)

    def test_programs(self):
        done = self.run_installed("stretto-doctor")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{INSTALLED}/stretto-server", done.stdout)
        self.assertIn("sums are right", done.stdout)
        done = self.run_installed("stretto-launch", "-n", 2, "-s", 1, "--", sys.executable,
                                  jobs.HERE / "exchange_worker.py", "Exchange.test_averages")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.run_installed("bpslaunch", "--help")
        self.assertIn("DMLC_ROLE", done.stdout)
        for program in ("launch", "top", "trace", "bench", "checkpoint", "scheduler", "server"):
            done = self.run_installed(f"stretto-{program}", "--help")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(f"usage: stretto-{program} ", done.stdout)

    def test_metadata(self):
        self.check_metadata(json.loads(self.run_installed("python3", "-c", METADATA).stdout))

    def check_metadata(self, told):
        """The metadata that package indexes and pip show."""
        self.assertEqual((told["name"], told["license"]), ("stretto", "Apache-2.0"))
        self.assertEqual(told["requires_python"], ">=3.9")
        self.assertIn("Programming Language :: Python :: 3", told["classifier"])
        self.assertIn("License :: OSI Approved :: Apache Software License", told["classifier"])
        self.assertEqual(told["description_content_type"], "text/markdown")
        readme = jobs.cluster.SOURCE / "bindings" / "python" / "README.md"
        self.assertEqual(told["description"].strip(), readme.read_text(encoding="utf-8").strip())
        for name in ("summary", "author", "keywords"):
            self.assertTrue(told[name], name)


class Doctor(jobs.PythonTest):

    def test_a_healthy_host(self):
        process = self.alone("-m", DOCTOR)
        self.assertEqual(process.end(jobs.TORCH_PATIENCE), 0, process.output())
        process.expect("^ok   a small job on this host: exchange worker 1 of 2 .* sums are right")
        process.expect("^all is well$")

    def test_a_host_without_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text("raise ImportError('it is not here')",
                                                        encoding="utf-8")
            process = self.alone("-m", DOCTOR, "--no-job", PYTHONPATH=folder)
            self.assertEqual(process.end(jobs.TORCH_PATIENCE), 0, process.output())
        process.expect("^note torch cannot be imported: .*it is not here")
        process.expect("^all is well, but for stretto.torch, which needs torch$")

    def test_what_must_be_mended(self):
        process = self.alone("-m", DOCTOR, "--no-job", "--connect", "127.0.0.1:1", "nonsense",
                             "no-such-host.invalid:80", DMLC_NUM_WORKER="many",
                             DMLC_INTERFACE="eth0")
        self.assertEqual(process.end(jobs.TORCH_PATIENCE), 1)
        for words in ("BAD  the environment makes no sense: DMLC_NUM_WORKER is 'many'",
                      "note DMLC_INTERFACE is not read: set STRETTO_BIND_HOST",
                      "BAD  127.0.0.1:1 cannot be reached", "BAD  'nonsense' is no address",
                      "BAD  no-such-host.invalid:80 cannot be reached", "something must be fixed"):
            process.expect(words)

    def test_a_worker_without_a_job(self):
        process = self.alone("-m", DOCTOR, "--worker")
        self.assertEqual(process.end(jobs.TORCH_PATIENCE), 1)
        self.one_error(process, "InvalidArgument", "stretto-launch")

    def test_the_packages_find_no_programs(self):
        process = self.alone("-m", DOCTOR, STRETTO_BIN_DIR="/nowhere")
        self.assertEqual(process.end(jobs.TORCH_PATIENCE), 1, process.output())
        process.expect("BAD  stretto-server is missing: .* /nowhere, which STRETTO_BIN_DIR names")


class Bpslaunch(jobs.PythonTest):

    def bpslaunch(self, *words, **variables):
        """Starts one call of bpslaunch."""
        return self.start("bpslaunch", [sys.executable, "-m", "stretto.bpslaunch", *words],
                          **variables)

    def test_a_job_by_hand(self):
        """Scheduler, server and two workers of one host, started like those of BytePS's users."""
        port = self.free_port()
        common = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": port,
                  "DMLC_NUM_WORKER": 1, "DMLC_NUM_SERVER": 1, "BYTEPS_LOCAL_SIZE": 2,
                  "BYTEPS_FORCE_DISTRIBUTED": 1}
        scheduler = self.bpslaunch(DMLC_ROLE="scheduler", **common)
        server = self.bpslaunch(DMLC_ROLE="server", **common)
        workers = self.bpslaunch(sys.executable, jobs.HERE / "exchange_worker.py",
                                 "Exchange.test_averages", DMLC_ROLE="worker", DMLC_WORKER_ID=0,
                                 **common)
        self.assertEqual(workers.end(jobs.TORCH_PATIENCE), 0, workers.output())
        for rank in range(2):
            workers.expect(f"BytePS launcher: joined local rank  {rank}")
        for process in (scheduler, server):
            self.assertEqual(process.end(), 0, process.output())
        self.assert_nobody_left()

    def free_port(self):
        """A port that the scheduler of another job has just released."""
        probe = self.start("probe", [jobs.cluster.SCHEDULER], STRETTO_SCHEDULER="127.0.0.1:0")
        port = jobs.cluster.address_of(probe)[1]
        probe.destroy()
        return port

    def test_what_is_missing(self):
        process = self.bpslaunch("true", DMLC_ROLE="worker", DMLC_NUM_WORKER=2)
        self.assertEqual(process.end(), 2)
        self.one_error(process, "InvalidArgument", "DMLC_PS_ROOT_URI", "DMLC_WORKER_ID")
        process = self.bpslaunch(DMLC_ROLE="joker", DMLC_PS_ROOT_URI="127.0.0.1",
                                 DMLC_PS_ROOT_PORT=1, DMLC_NUM_WORKER=2, DMLC_NUM_SERVER=1)
        self.assertEqual(process.end(), 2)
        self.one_error(process, "InvalidArgument", "joker", "wanted scheduler or server")

    def test_exit_status_and_quoting(self):
        common = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": 1, "DMLC_NUM_WORKER": 1,
                  "DMLC_NUM_SERVER": 1, "DMLC_WORKER_ID": 0, "DMLC_ROLE": "worker"}
        process = self.bpslaunch(sys.executable, "-c",
                                 "import sys; print(sys.argv[1]); sys.exit(7)", "two  words '",
                                 **common)
        self.assertEqual(process.end(), 7)
        process.expect("^two  words '$")
        process = self.bpslaunch("/no/such/program", **common)
        self.assertEqual(process.end(), 127)

    def test_servers_of_a_worker_alone(self):
        process = self.bpslaunch(DMLC_ROLE="server", DMLC_PS_ROOT_URI="127.0.0.1",
                                 DMLC_PS_ROOT_PORT=1, DMLC_NUM_WORKER=1, DMLC_NUM_SERVER=1)
        self.assertEqual(process.end(), 0)


if __name__ == "__main__":
    unittest.main()
