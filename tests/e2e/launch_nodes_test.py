# SPDX-License-Identifier: Apache-2.0
"""Launchers started by hand on each host make one job, by --nnodes and --rdzv-endpoint. Both run on
one host here.
"""

import pathlib
import re
import socket
import struct
import tempfile
import unittest

import cluster
import relay

HELLO = cluster.BIN / "hello"
LAUNCHER = cluster.BIN / "stretto-launch"
TOKEN = "a secret of this test's nodes"


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def frame(kind, number, texts):
    """A frame of member 0 in the format of the launcher's agent_protocol.h."""
    body = struct.pack("<BBIqI", kind, 0, 0, number, len(texts))
    for text in texts:
        body += struct.pack("<I", len(text)) + text.encode()
    return struct.pack("<I", len(body)) + body


class Nodes(cluster.ClusterTest):

    def setUp(self):
        super().setUp()
        self.endpoint = f"127.0.0.1:{free_port()}"

    def node(self, rank, *words, token=TOKEN, **variables):
        """The launcher of one node."""
        return self.start(f"node {rank}", [LAUNCHER, "--nnodes", 2, "--nproc-per-node", 2,
                                           "--node-rank", rank, "--rdzv-endpoint", self.endpoint,
                                           *words], STRETTO_JOB_TOKEN=token, **variables)

    def test_two_launchers_make_one_job(self):
        program = ("sh", "-c", f'echo "local $LOCAL_RANK of $LOCAL_WORLD_SIZE"; exec {HELLO}')
        second = self.node(1, *program)  # It waits for node 0.
        first = self.node(0, *program)
        self.assertEqual(first.end(), 0, first.output())
        self.assertEqual(second.end(), 0, second.output())
        for rank in range(4):
            first.expect(rf"^\[worker {rank}\] local {rank % 2} of 2$")
            first.expect(rf"^\[worker {rank}\] worker {rank} of 4: sum = 10$")
        self.assert_nobody_left()

    def test_nodes_meet_at_any_loopback_address(self):
        for host in ("127.0.0.5", "[::1]"):
            self.endpoint = f"{host}:{free_port()}"
            second = self.node(1, HELLO)
            first = self.node(0, HELLO)
            self.assertEqual([first.end(), second.end()], [0, 0], first.output())
            first.expect(f"waits at {re.escape(self.endpoint)} for 1 other nodes")

    def test_a_failure_ends_all_nodes(self):
        program = ("sh", "-c", "[ $RANK != 3 ] || exit 7; exec sleep 1000")
        first = self.node(0, "-s", 0, "--settle", 0, *program)
        second = self.node(1, "-s", 0, *program)
        self.assertEqual(first.end(), 7, first.output())
        self.assertEqual(second.end(), 1, second.output())
        self.assert_nobody_left()

    def test_a_node_with_another_secret_is_not_admitted(self):
        first = self.node(0, HELLO)
        first.expect("waits at")
        second = self.node(1, cluster.BIN / "hello", token="of another job entirely")
        self.assertEqual(second.end(), 1, second.output())
        second.expect("STRETTO_JOB_TOKEN must be the same on all hosts")
        third = self.node(1, HELLO)
        self.assertEqual([first.end(), third.end()], [0, 0], first.output())

    def test_the_network_does_not_carry_the_token(self):
        middle = relay.Relay(1)
        self.addCleanup(middle.close)
        middle.see()
        first = self.node(0, HELLO)
        first.expect("waits at")
        self.endpoint = middle.route(int(self.endpoint.split(":")[1]))
        second = self.node(1, HELLO)
        self.assertEqual([first.end(), second.end()], [0, 0], first.output() + second.output())
        self.assertTrue(middle.has_seen(b"STRETTO_ROLE=worker"))
        self.assertFalse(middle.has_seen(TOKEN.encode()))

    def test_an_impostor_of_node_0_starts_nothing(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        trace = pathlib.Path(folder.name) / "started"
        start = frame(2, 2, ["/", "/usr/bin/touch", "touch", str(trace)])
        with socket.create_server(("127.0.0.1", int(self.endpoint.split(":")[1]))) as listener:
            node = self.node(1, HELLO)
            listener.settimeout(cluster.PATIENCE)
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(cluster.PATIENCE)
                heard = connection.recv(4096)
                connection.sendall(start)
                while piece := connection.recv(4096):
                    heard += piece
        self.assertEqual(node.end(), 1, node.output())
        node.expect("did not show that it is the launcher of node 0")
        self.assertNotIn(TOKEN.encode(), heard)
        self.assertFalse(trace.exists())

    def test_a_node_that_does_not_come_is_named(self):
        first = self.node(0, "--start-timeout", 1, HELLO)
        self.assertNotEqual(first.end(), 0, first.output())
        first.expect("node 1 did not answer within 1 s")

    def test_what_is_missing_is_said(self):
        alone = self.node(1, "--start-timeout", 1, HELLO)
        self.assertEqual(alone.end(), 1, alone.output())
        alone.expect("did not listen at .* within 1 s; start it there with --node-rank 0")
        alone.expect("Connection refused")
        self.endpoint = f"nosuchhost.invalid:{free_port()}"
        lost = self.node(1, "--start-timeout", 1, HELLO)
        self.assertEqual(lost.end(), 1, lost.output())
        lost.expect("nosuchhost.invalid")
        lost.expect("resolve")
        secretless = self.node(0, cluster.BIN / "hello", token="")
        self.assertEqual(secretless.end(), 2, secretless.output())
        secretless.expect("export the same STRETTO_JOB_TOKEN on all hosts")

    def test_each_node_checks_token_and_encryption(self):
        for rank in (0, 1):
            guessed = self.node(rank, HELLO, token="x")
            self.assertEqual(guessed.end(), 2, guessed.output())
            guessed.expect("this one has 1 characters, and 16 are the least")
            encrypted = self.node(rank, "--encrypt", HELLO)
            self.assertEqual(encrypted.end(), 2, encrypted.output())
            encrypted.expect("launchers of several nodes")


if __name__ == "__main__":
    unittest.main()
