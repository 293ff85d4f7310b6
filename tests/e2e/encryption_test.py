# SPDX-License-Identifier: Apache-2.0
"""Encrypted jobs: they train like others; a machine in the middle reads neither the payload nor the
token; a process with a wrong token is rejected; connections that cannot be encrypted are refused.
"""

import socket
import struct
import subprocess
import time
import unittest

import cluster
import links
import relay

SEED = 1
TOKEN = "a token that nobody may read on the way"
ENCRYPTED = {"STRETTO_ENCRYPT": 1, "STRETTO_JOB_TOKEN": TOKEN, "STRETTO_TRANSPORT": "zmq"}
# The pushes of rank 0, and the sums over two workers, somewhere in every round.
PAYLOADS = (struct.pack("<8f", *range(500, 508)), struct.pack("<8f", *range(1500, 1524, 3)))
FLAGS = ("--rounds", 20, "--progress", 5, "--elements", 2000)


def greeting(mechanism):
    """Of ZMTP 3.0, by a connecting peer."""
    return b"\xff" + bytes(8) + b"\x7f\x03\0" + mechanism.ljust(20, b"\0") + bytes(32)


class Encrypted(cluster.ClusterTest):
    def through_a_relay(self, **variables):
        """A job all of whose links lead through a relay that records the traffic."""
        middle = relay.Relay(SEED)
        self.addCleanup(middle.close)
        middle.see()
        job = cluster.ByHand(self, servers=1, STRETTO_NODE_HOST=relay.HOST, **variables)
        job.address = middle.route(int(job.address.split(":")[1]))
        server = job.server(0, STRETTO_BIND_HOST="127.0.0.1", STRETTO_LOG_LEVEL="debug")
        middle.route(cluster.address_of(server)[1])
        for rank in (0, 1):
            job.worker(rank, FLAGS)
        for name, process in job.everybody.items():
            self.assertEqual(process.end(), 0, f"{name}: {process.output()}")
        for rank in (0, 1):
            job.everybody[f"worker {rank}"].expect(r"verified values=\d+ wrong=0 rounds=20")
        return middle

    def test_who_lies_between_reads_nothing(self):
        plain = self.through_a_relay(**(ENCRYPTED | {"STRETTO_ENCRYPT": 0}))
        words = (TOKEN.encode(), *PAYLOADS, b"tensor 0", b"STRO")
        for word in words:
            self.assertTrue(plain.has_seen(word), f"a plain job says {word}")
        middle = self.through_a_relay(**ENCRYPTED)
        self.assertGreater(middle.seen_bytes(), plain.seen_bytes())
        for word in words:
            self.assertFalse(middle.has_seen(word), f"an encrypted job says {word}")

    def test_the_launcher_makes_the_secret(self):
        job = self.train("--rounds", 10**6, launcher=("--encrypt",), STRETTO_TRANSPORT="zmq")
        job.expect("progress", count=2)
        members = job.members()
        self.assertEqual(len(members), 5, job.output())
        variables = [cluster.variables_of(pid) for pid in members.values()]
        token = variables[0]["STRETTO_JOB_TOKEN"]
        self.assertGreaterEqual(len(token), 32)
        for one in variables:
            self.assertEqual((one["STRETTO_ENCRYPT"], one["STRETTO_JOB_TOKEN"]), ("1", token))
        for pid in (job.pid, *members.values()):
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                self.assertNotIn(token.encode(), line.read())
        self.assert_outsiders_stay_outside(job.scheduler_address(), token)
        job.expect("progress", count=len([one for one in job.lines if "progress" in one]) + 2)
        job.send(15)
        job.end()
        self.assert_nobody_left()

    def assert_outsiders_stay_outside(self, address, token):
        host, port = address
        at = f"{host}:{port}"
        ready = b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER"
        for opening in (greeting(b"NULL") + ready, greeting(b"CURVE") + ready,
                        greeting(b"CURVE") + b"\x04\xc8\x05HELLO" + bytes(194)):
            with socket.create_connection(address, cluster.PATIENCE) as stranger:
                stranger.sendall(opening)
                self.assert_hung_up(stranger)
        cases = ((ENCRYPTED, "another key"),
                 ({"STRETTO_JOB_TOKEN": token, "STRETTO_TRANSPORT": "zmq"},
                  "wanted a plain connection"))
        for number, (variables, word) in enumerate(cases):
            outsider = self.start(f"outsider {number}", [cluster.TRAINING, "--rounds", 1],
                                  STRETTO_SCHEDULER=at, STRETTO_RENDEZVOUS_TIMEOUT_S=2,
                                  STRETTO_WORLD_SIZE=2, STRETTO_SERVERS=2, **variables)
            self.assertEqual(outsider.end(), 1, outsider.output())
            self.one_error(outsider, "RendezvousTimeout", word, "STRETTO_JOB_TOKEN")
        began = time.monotonic()  # With the default timeout.
        outsider = self.start("outsider", [cluster.TRAINING, "--rounds", 1], STRETTO_SCHEDULER=at,
                              STRETTO_WORLD_SIZE=2, STRETTO_SERVERS=2, **ENCRYPTED)
        self.assertEqual(outsider.end(), 1, outsider.output())
        self.one_error(outsider, "Refused", "another key", "STRETTO_JOB_TOKEN")
        self.assertLess(time.monotonic() - began, 20)
        # Tools of the same user know the job, or get its address and token.
        for variables in ({}, {"STRETTO_ENCRYPT": 1, "STRETTO_JOB_TOKEN": token}):
            top = subprocess.run([cluster.BIN / "stretto-top", "--once", "--job", at],
                                 env=self.environment(**variables), capture_output=True, text=True,
                                 timeout=cluster.PATIENCE, check=False)
            self.assertEqual(top.returncode, 0, top.stderr)
            self.assertIn("worker", top.stdout)

    def assert_hung_up(self, stranger):
        try:
            while stranger.recv(4096):
                pass
        except ConnectionResetError:
            pass

    def test_shared_memory_goes_with_it(self):
        self.assert_success(self.train(*FLAGS, launcher=("--encrypt",)))

    def test_workers_among_themselves(self):
        self.assert_success(self.train(*FLAGS, "--exchange", "ring", servers=0,
                                       launcher=("--encrypt",), STRETTO_TRANSPORT="zmq"))


class Calls(cluster.ClusterTest):
    def endpoint(self, name, *flags, **variables):
        return self.start(name, [links.CALLING, *flags], **(ENCRYPTED | variables))

    def test_endpoints_are_encrypted_too(self):
        middle = relay.Relay(SEED)
        self.addCleanup(middle.close)
        middle.see()
        callee = self.endpoint("callee")
        address = middle.route(cluster.address_of(callee)[1])
        caller = self.endpoint("caller", "--to", address)
        caller.expect("progress", count=2)
        self.assertGreater(middle.seen_bytes(), 1000)
        for word in (TOKEN.encode(), b"STRO"):
            self.assertFalse(middle.has_seen(word))
        other = self.endpoint("other", "--to", address, STRETTO_JOB_TOKEN="a token of others",
                              STRETTO_LOG_LEVEL="debug")
        self.assertNotEqual(other.end(), 0)
        self.assertIn("another key", other.output())
        caller.expect("progress", count=4)


class Refused(cluster.ClusterTest):
    """Plaintext connections are refused before anything starts."""

    def refusal(self, *flags, **variables):
        job = self.train(launcher=("--encrypt", *flags), **variables)
        self.assertEqual(job.end(), 2, job.output())
        return job.errors()[0].cause

    def test_by_the_launcher(self):
        self.assertIn("libfabric does not encrypt", self.refusal(STRETTO_TRANSPORT="fabric"))
        self.assertIn("in the clear; take --via ssh",
                      self.refusal("--via", "mpi", "-H", "192.0.2.1:2"))
        for name in ("STRETTO_PAGE_ADDRESS", "STRETTO_METRICS_ADDRESS"):
            cause = self.refusal(**{name: "0.0.0.0:9300", "STRETTO_JOB_TOKEN": TOKEN})
            self.assertIn(name, cause)
            self.assertIn("127.0.0.1:9300", cause)
        self.assertIn("16 are the least", self.refusal(STRETTO_JOB_TOKEN="short"))
        self.assertIn("leave out one", self.refusal(STRETTO_ENCRYPT=0))

    def test_by_processes(self):
        for variables, word in (({"STRETTO_JOB_TOKEN": ""}, "STRETTO_JOB_TOKEN"),
                                ({"STRETTO_TRANSPORT": "fabric"}, "libfabric does not encrypt"),
                                ({"STRETTO_ENCRYPT": "yes"}, "0 or 1")):
            process = self.start("scheduler", [cluster.SCHEDULER],
                                 STRETTO_SCHEDULER="127.0.0.1:0", **(ENCRYPTED | variables))
            self.assertNotEqual(process.end(), 0)
            self.assertIn(word, process.output())


if __name__ == "__main__":
    unittest.main()
