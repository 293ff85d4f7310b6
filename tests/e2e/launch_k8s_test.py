# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto-launch --print k8s`: equal each time, with consistent objects whose fields
Kubernetes' API knows (by the models of Debian's python3-kubernetes). Their commands and variables
make a job, run here like by a kubelet. No cluster is needed or used.
"""

import json
import os
import pathlib
import re
import signal
import tempfile
import unittest

import kubernetes.client
import yaml

import cluster

GOLDEN = cluster.SOURCE / "tests" / "e2e" / "golden" / "k8s.yaml"
HELLO = cluster.BIN / "hello"
LOSING = cluster.BUILD / "tests" / "losing"
MODELS = {"Secret": "V1Secret", "Service": "V1Service", "Job": "V1Job"}
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # DNS-1123.


class Response:
    """A response for the client's deserialize()."""

    def __init__(self, value):
        self.data = json.dumps(value)


def expanded(text):
    """Kubernetes' expansion of a command or value without variables: $$ becomes $."""
    return text.replace("$$", "$")


def container(job):
    pod = job["spec"]["template"]["spec"]
    first, = pod["containers"]
    return first


class Manifests(cluster.ClusterTest):

    def printed(self, *program, flags=(), status=0, **variables):
        command = [cluster.LAUNCH, "--print", "k8s", *flags, "--", *program]
        process = self.start("print", command, **variables)
        self.assertEqual(process.end(), status, process.output())
        return process

    def objects(self, *program, flags=(), **variables):
        """Objects by kind and name."""
        text = "\n".join(self.printed(*program, flags=flags, **variables).lines)
        found = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text)}
        self.assertEqual(len(found), 6)
        return found

    def example(self):
        flags = ["-n", 3, "-s", 2, "--shards", 2, "--name", "digits", "--namespace", "training",
                 "--image", "registry.local/me/digits:7", "--cpus", "2", "--memory", "4Gi",
                 "--start-timeout", 300, "--env", "STRETTO_LOG_LEVEL=debug"]
        return self.printed("python3", "train.py", "--epochs", "3", "it's", '"a" $(b)',
                            flags=flags, STRETTO_JOB_TOKEN="a secret of the test")

    def test_the_text_is_the_golden_one(self):
        version = self.start("version", [cluster.LAUNCH, "--version"])
        self.assertEqual(version.end(), 0)
        golden = GOLDEN.read_text(encoding="utf-8").replace("VERSION", version.lines[0].split()[1])
        printed = "\n".join(self.example().lines) + "\n"
        self.assertEqual(printed, golden, f"if this is meant, write it to {GOLDEN}")

    def test_kubernetes_knows_every_field(self):
        """The Kubernetes client's models serialise their input again. The output would lack an
        unknown field; a field of the wrong type would raise an error.
        """
        client = kubernetes.client.ApiClient()
        for text in ("\n".join(self.example().lines),
                     "\n".join(self.printed(HELLO).lines)):
            for one in yaml.safe_load_all(text):
                model = client.deserialize(Response(one), MODELS[one["kind"]])
                self.assertEqual(client.sanitize_for_serialization(model), one)
                self.assertEqual(one["apiVersion"], "batch/v1" if one["kind"] == "Job" else "v1")

    def test_pods_of_an_elastic_job_come_again_and_some_may_be_lost(self):
        flags = ["--workers", "2:5", "--restarts", 3]
        objects = self.objects(HELLO, flags=[*flags, "--name", "x"])
        spec = objects["Job", "x-workers"]["spec"]
        losses = [spec[name] for name in ("backoffLimit", "backoffLimitPerIndex",
                                          "maxFailedIndexes")]
        self.assertEqual((spec["completions"], losses), (5, [6, 3, 3]))
        for other in ("x-scheduler", "x-servers"):
            spec = objects["Job", other]["spec"]
            self.assertEqual(spec["backoffLimit"], 0)
            self.assertNotIn("backoffLimitPerIndex", spec)
        lines = self.printed(HELLO, flags=flags).lines
        self.assertIn("# 1.29 or newer.", "\n".join(lines))

    def test_objects_fit_one_another(self):
        objects = self.objects(HELLO, flags=["-n", 3, "-s", 2, "--name", "x"])
        secret = objects["Secret", "x-token"]
        jobs = {name: one for (kind, name), one in objects.items() if kind == "Job"}
        services = {name: one for (kind, name), one in objects.items() if kind == "Service"}
        self.assertEqual(set(jobs), {"x-scheduler", "x-servers", "x-workers"})
        for (_, name), one in objects.items():
            self.assertRegex(name, f"^{LABEL.pattern}$")
            self.assertNotIn("namespace", one["metadata"])
        for name, count in (("x-scheduler", 1), ("x-servers", 2), ("x-workers", 3)):
            spec = jobs[name]["spec"]
            self.assertEqual((spec["completions"], spec["parallelism"]), (count, count))
            self.assertEqual((spec["completionMode"], spec["backoffLimit"]), ("Indexed", 0))
            self.assertEqual(spec["template"]["spec"]["restartPolicy"], "Never")
            for variable in container(jobs[name])["env"]:
                reference = variable.get("valueFrom", {}).get("secretKeyRef")
                if reference:
                    self.assertEqual(variable["name"], "STRETTO_JOB_TOKEN")
                    self.assertEqual(reference["name"], secret["metadata"]["name"])
                    self.assertIn(reference["key"], secret["stringData"])
        for service, job in (("x-scheduler", "x-scheduler"), ("x-workers", "x-workers")):
            labels = jobs[job]["spec"]["template"]["metadata"]["labels"]
            selector = services[service]["spec"]["selector"]
            self.assertEqual(labels, labels | selector)
            chosen = [name for name, one in jobs.items()
                      if one["spec"]["template"]["metadata"]["labels"].items() >= selector.items()]
            self.assertEqual(chosen, [job])
            port, = services[service]["spec"]["ports"]
            self.assertEqual(container(jobs[job])["ports"], [{"containerPort": port["targetPort"]}])
            self.assertEqual(port["port"], port["targetPort"])
        self.assertEqual(jobs["x-workers"]["spec"]["template"]["spec"]["subdomain"], "x-workers")
        self.assertEqual(services["x-workers"]["spec"]["clusterIP"], "None")

    def pod(self, job, index, address, **variables):
        """Starts one pod of a job like a kubelet, except that addresses are of this host."""
        fields = {"metadata.annotations['batch.kubernetes.io/job-completion-index']": str(index),
                  "status.podIP": "127.0.0.1"}
        given = {}
        for variable in container(job)["env"]:
            source = variable.get("valueFrom", {})
            value = variable.get("value", "")
            if "fieldRef" in source:
                value = fields[source["fieldRef"]["fieldPath"]]
            given[variable["name"]] = expanded(value)
        self.assertTrue(given["STRETTO_SCHEDULER"].endswith(":9700"))
        given |= {"STRETTO_SCHEDULER": address, "STRETTO_BIND_HOST": "127.0.0.1"} | variables
        words = [expanded(word) for word in container(job)["command"]]
        if words[0].startswith("stretto-"):
            words[0] = cluster.BIN / words[0]
        return self.start(f"{given['STRETTO_ROLE']} {index}", words, **given)

    def test_their_processes_make_a_job(self):
        say = 'echo "$1 of $RANK at $MASTER_ADDR:$MASTER_PORT with $STRETTO_JOB_TOKEN"; exec "$2"'
        objects = self.objects("sh", "-c", say, "sh", "$(RANK) $$(x)", HELLO,
                               flags=["-n", 2, "-s", 2])
        token = {"STRETTO_JOB_TOKEN": "of the test"}
        scheduler = self.pod(objects["Job", "stretto-scheduler"], 0, "127.0.0.1:0", **token)
        host, port = cluster.address_of(scheduler)
        pods = [self.pod(objects["Job", f"stretto-{role}"], index, f"{host}:{port}", **token)
                for role in ("servers", "workers") for index in (0, 1)]
        for process in (*pods, scheduler):
            self.assertEqual(process.end(), 0, process.output())
        for rank, worker in enumerate(pods[2:]):
            self.assertEqual(worker.lines, [
                f"$(RANK) $$(x) of {rank} at stretto-workers-0.stretto-workers:29500 with "
                "of the test",
                f"worker {rank} of 2: sum = 3"])

    def test_a_pod_of_a_lost_index_joins(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        until = pathlib.Path(folder.name) / "until"
        objects = self.objects("sh", "-c", 'exec "$1" --until "$2" --number "$NUMBER"', "sh",
                               LOSING, until, flags=["--workers", "1:2", "--restarts", 1])
        token = {"STRETTO_JOB_TOKEN": "of the test of pods"}
        scheduler = self.pod(objects["Job", "stretto-scheduler"], 0, "127.0.0.1:0", **token)
        address = "{}:{}".format(*cluster.address_of(scheduler))
        server = self.pod(objects["Job", "stretto-servers"], 0, address, **token)
        workers = objects["Job", "stretto-workers"]
        stays, lost = (self.pod(workers, index, address, NUMBER=str(index), **token)
                       for index in (0, 1))
        lost.expect(r"^round \d+$")
        os.kill(lost.pid, signal.SIGKILL)
        self.assertEqual(lost.end(), 128 + signal.SIGKILL)
        stays.expect(r"^view rank=0 size=1$")
        again = self.pod(workers, 1, address, NUMBER="2", **token)
        again.expect(r"newcomers 1 before round \d+: us$")
        again.expect(r"^round \d+$")
        until.touch()
        for process in (stays, again, server, scheduler):
            self.assertEqual(process.end(), 0, process.output())
        self.assertNotIn("wrong:", stays.output() + again.output())

    def test_an_empty_token_is_refused_by_the_scheduler(self):
        objects = self.objects(HELLO)
        self.assertEqual(objects["Secret", "stretto-token"]["stringData"], {"token": ""})
        scheduler = self.pod(objects["Job", "stretto-scheduler"], 0, "127.0.0.1:0",
                             STRETTO_BIND_HOST="0.0.0.0")
        self.assertEqual(scheduler.end(), 1, scheduler.output())
        self.one_error(scheduler, "InvalidArgument", "STRETTO_JOB_TOKEN")

    def test_pods_get_words_as_typed(self):
        """Each pod gets folders and checkpoints; a program gets its words and the caller's $$."""
        program = ("sh", "-c", 'echo "$1" "$X"', "sh", "$$ $$(RANK) $HOME $")
        flags = ["--checkpoint", "/ck", "--chdir", "/w", "--env", "X=$$(A)"]
        objects = self.objects(*program, flags=flags)
        for job in ("scheduler", "servers", "workers"):
            pod = container(objects["Job", f"stretto-{job}"])
            given = {one["name"]: one.get("value") for one in pod["env"]}
            self.assertEqual(given["STRETTO_CHECKPOINT"], "/ck")
            self.assertEqual(expanded(given["X"]), "$$(A)")
            self.assertEqual(pod["workingDir"], "/w")
        self.assertEqual([expanded(word) for word in pod["command"]], list(program))

    def test_flags_that_manifests_cannot_honour(self):
        for flags in (["--log-dir", "l"], ["-H", "a,b"], ["--via", "ssh"], ["--settle", 3]):
            with self.subTest(flags[0]):
                process = self.printed(HELLO, flags=flags, status=2)
                self.one_error(process, "InvalidArgument", flags[0],
                               "no effect with --print k8s", "op=arguments)")

    def test_words_that_kubernetes_refuses(self):
        for flags, wanted in ((["--name", "My_Job"], "lower-case letters"),
                              (["--name", "x" * 41], "up to 40"),
                              (["--namespace", "-a"], "inner hyphens"),
                              (["--cpus", "two"], "2 or 500m"),
                              (["--memory", "4GB"], "4Gi"),
                              (["--print", "helm"], "wanted k8s")):
            with self.subTest(flags[1]):
                process = self.printed(HELLO, flags=flags, status=2)
                self.one_error(process, "InvalidArgument", flags[1], wanted)


if __name__ == "__main__":
    unittest.main(verbosity=2)
