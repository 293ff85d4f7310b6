# SPDX-License-Identifier: Apache-2.0
"""Dockerfile and compose.yaml without Docker: they name existing files, and the services form a
job. tools/packages --test runs the steps themselves, in a minimal root file system.
"""

import re
import shlex
import sys
import unittest

import yaml

import jobs

SOURCE = jobs.cluster.SOURCE
IMAGE = "registry.example/stretto"
TOKEN = "a secret of this test"


def project_version():
    text = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(stretto VERSION (\S+)", text)[1]


class Dockerfile(unittest.TestCase):

    def test_its_steps(self):
        text = (SOURCE / "Dockerfile").read_text(encoding="utf-8")
        steps = re.sub(r"\\\n\s*", "", text)
        for script in re.findall(r"^RUN (tools/\S+)", steps, re.MULTILINE):
            self.assertTrue((SOURCE / script).is_file(), script)
        told = re.findall(rf"{IMAGE}:(\S+?)[. ]?(?=\s|`|,|$)", text)
        self.assertEqual(set(told), {project_version()})
        for name in re.findall(r"packages/([a-z0-9-]+)_\*\.deb", steps):
            self.assertIn(name, ("stretto", "python3-stretto"))


class Compose(jobs.PythonTest):

    def setUp(self):
        super().setUp()
        text = (SOURCE / "compose.yaml").read_text(encoding="utf-8")
        self.services = yaml.safe_load(text)["services"]

    def start_service(self, name, **changed):
        """Starts a process per replica."""
        service = self.services[name]
        program, *words = service["command"]
        command = [jobs.cluster.BIN / program, *words]
        if program == "stretto-doctor":
            command = [sys.executable, "-m", "stretto.doctor", *words]
        variables = service["environment"] | changed
        return [self.start(f"{name} {number}", command, **variables)
                for number in range(service.get("deploy", {}).get("replicas", 1))]

    def test_a_job(self):
        here = {"STRETTO_BIND_HOST": "127.0.0.1", "STRETTO_JOB_TOKEN": TOKEN}
        scheduler, = self.start_service("scheduler", STRETTO_SCHEDULER="127.0.0.1:0", **here)
        host, port = jobs.cluster.address_of(scheduler)
        here["STRETTO_SCHEDULER"] = f"{host}:{port}"
        others = self.start_service("server", **here) + self.start_service("worker", **here)
        for process in (*others, scheduler):
            self.assertEqual(process.end(jobs.TORCH_PATIENCE), 0, process.output())
            if process.name.startswith("worker"):
                process.expect("sums are right")
        self.assert_nobody_left()

    def test_one_job_of_one_image(self):
        counts = {name: service.get("deploy", {}).get("replicas", 1)
                  for name, service in self.services.items()}
        for service in self.services.values():
            self.assertEqual(service["image"], f"{IMAGE}:{project_version()}")
            given = service["environment"]
            self.assertEqual(given["STRETTO_SCHEDULER"].split(":")[0], "scheduler")
            self.assertEqual(int(given["STRETTO_WORLD_SIZE"]), counts["worker"])
            self.assertEqual(int(given["STRETTO_SERVERS"]), counts["server"])
            self.assertIn("${STRETTO_JOB_TOKEN:?", given["STRETTO_JOB_TOKEN"])

    def test_the_image_is_that_of_the_manifests(self):
        process = self.start("print", [jobs.cluster.LAUNCH, "--print", "k8s", "--", "true"],
                             STRETTO_JOB_TOKEN=TOKEN)
        self.assertEqual(process.end(), 0, process.output())
        process.expect(f'image: "{re.escape(IMAGE)}:{re.escape(project_version())}"')


class Workflow(unittest.TestCase):

    def test_it_calls_the_check(self):
        text = (SOURCE / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
        steps = yaml.safe_load(text)["jobs"]["check"]["steps"]
        called = [shlex.split(step["run"])[0] for step in steps if "run" in step]
        self.assertIn(".ci/run", called)
        self.assertTrue((SOURCE / ".ci" / "run").stat().st_mode & 0o100)


if __name__ == "__main__":
    unittest.main()
