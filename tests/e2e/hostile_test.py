# SPDX-License-Identifier: Apache-2.0
"""Pending connections at the ports of a job that trains: garbage, false lengths, mutated frames,
forged messages, silent connections and floods. The job must succeed with right values, its
processes must not grow, and joining members with the right token must be admitted meanwhile.
STRETTO_HOSTILE_MESSAGES sets the number of mutated messages; default 6,000.
"""

import contextlib
import os
import pathlib
import resource
import tempfile
import threading
import time
import unittest

import attacks
import cluster
import wire

MESSAGES = int(os.environ.get("STRETTO_HOSTILE_MESSAGES", "6000"))
FLOOD = 3000
LORISES = 240
MOST_GROWTH = 64 << 20
NEWCOMER_SECONDS = 10
SILENCE_SECONDS = 8  # The handshake and the hello have 5 each, from the same start.
REFUSED = 5
PER_SECOND, TURNS, TURN_SECONDS = 130, 3, 2.0  # To each address; heavy messages, and light ones.


def setUpModule():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class WhileTraining(cluster.ClusterTest):
    """A job of two workers and two servers that trains until it is stopped."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.enough = pathlib.Path(folder.name) / "enough"
        self.job = self.train("--rounds", 10**9, "--progress", 20, "--until", self.enough)
        self.job.expect("progress", count=40)  # Also to measure its speed.
        self.members = self.job.members()
        self.open = {name: pid for name, pid in self.members.items()
                     if not name.startswith("worker")}
        self.addresses = [("127.0.0.1", port) for pid in self.open.values()
                          for port in cluster.listening_ports(pid)]
        self.assertEqual(len(self.addresses), 3, self.open)
        self.resident = {name: cluster.resident_bytes(pid) for name, pid in self.open.items()}

    def check(self):
        """Checks that the job continues, and no process has grown."""
        reached = sum("progress" in line for line in self.job.lines)
        self.job.expect("progress", count=reached + 4)
        self.assertEqual(self.job.members(), self.members)
        self.assertEqual(self.job.errors(), [])
        for name, pid in self.open.items():
            growth = cluster.resident_bytes(pid) - self.resident[name]
            self.assertLess(growth, MOST_GROWTH, name)

    def finish(self):
        """Stops the job, and checks its results. Prints its speed and growth."""
        growth = {name: (cluster.resident_bytes(pid) - self.resident[name]) >> 10
                  for name, pid in self.open.items()}
        self.enough.touch()
        self.assert_success(self.job)
        print(f"MEASURED growth in KiB: {growth}")

    def rounds_per_second(self, since, until):
        times = [moment for line, moment in zip(self.job.lines, self.job.times, strict=True)
                 if "[worker 0] progress" in line and since <= moment <= until]
        return 20 * (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0

    def test_listed_attacks(self):
        before = self.job.times[0]
        began = time.monotonic()
        for attack in attacks.LISTED:
            with self.subTest(attack.__name__):
                start = time.monotonic()
                count, said = attacks.run(attack, self.addresses)
                self.check()
                print(f"MEASURED {attack.__name__}: {count} connections, {said} said all, in "
                      f"{time.monotonic() - start:.2f} s")
        ended = time.monotonic()
        print(f"MEASURED rounds a second: {self.rounds_per_second(before, began):.0f} before, "
              f"{self.rounds_per_second(began, ended):.0f} meanwhile")
        self.finish()

    def test_mutated_messages(self):
        before = self.job.times[0]
        began = time.monotonic()
        for seed in range(0, MESSAGES, 10_000):
            most = min(10_000, MESSAGES - seed)
            count, said = attacks.run(attacks.mutated, self.addresses, seed, most)
            self.assertEqual(count, most)
            self.assertGreater(said, most // 2)
            self.check()
        ended = time.monotonic()
        print(f"MEASURED {MESSAGES} mutated messages in {ended - began:.2f} s; rounds a second: "
              f"{self.rounds_per_second(before, began):.0f} before, "
              f"{self.rounds_per_second(began, ended):.0f} meanwhile")
        self.finish()

    def test_floods_and_silence(self):
        before = self.job.times[0]
        began = time.monotonic()
        held = attacks.loris(self.addresses, LORISES)
        attacks.flood(self.addresses, FLOOD)
        self.check()
        ended = time.monotonic()
        print(f"MEASURED {LORISES} silent and {FLOOD} short connections; rounds a second: "
              f"{self.rounds_per_second(before, began):.0f} before, "
              f"{self.rounds_per_second(began, ended):.0f} meanwhile")
        for connection in held:
            connection.close()
        self.check()
        self.finish()

    def test_heavy_messages_do_not_stall_rounds(self):
        """Of the same size, at the same rate, by turns: decoding may not take the loops' time."""
        rounds = {"light": 0.0, "heavy": 0.0}
        said = dict.fromkeys(rounds, 0)
        messages = {"light": attacks.light_message(), "heavy": attacks.heavy_message()}
        for _ in range(TURNS):
            for name, message in messages.items():
                since = time.monotonic()
                said[name] += attacks.repeat(self.addresses, message, PER_SECOND, TURN_SECONDS)
                rounds[name] += self.rounds_per_second(since, time.monotonic())
        self.check()
        print(f"MEASURED rounds a second: {rounds['light'] / TURNS:.0f} under {said['light']} "
              f"light messages, {rounds['heavy'] / TURNS:.0f} under {said['heavy']} heavy ones: "
              f"{rounds['heavy'] / rounds['light']:.2f}")
        # Decoding on the loops left less than a tenth of the rounds.
        self.assertGreater(rounds["heavy"], 0.3 * rounds["light"])
        self.finish()

    def test_refused_hellos_are_logged_seldom(self):
        scheduler = self.job.scheduler_address()
        for _ in range(20):
            with wire.Connection(scheduler) as connection:
                connection.open()
                connection.send(wire.control(wire.hello(token="guess")))
                self.assertEqual(connection.receive_control()[0], wire.FAULT)
        self.finish()
        told = [line for line in self.job.lines if "refused:" in line]
        self.assertEqual([line.split("; ")[-1] for line in told],
                         [f"{n} hellos so far" for n in (1, 2, 4, 8, 16)], told)

    def test_stolen_words(self):
        """With the job's token, but as an existing member: refused, with a reason."""
        token = cluster.variables_of(self.members["worker 0"])["STRETTO_JOB_TOKEN"]
        scheduler = self.job.scheduler_address()
        for address in self.addresses:
            for node in range(1, 7):
                with wire.Connection(address) as connection:
                    connection.open()
                    connection.send(wire.control(wire.hello(rank=0, token=token, node=node)))
                    kind, fault = connection.receive_control()
                    self.assertEqual((kind, fault[1]), (wire.FAULT, REFUSED), fault)
                    words = b"is that already" if address == scheduler else b"says it is"
                    self.assertIn(words, fault[2])
        self.check()
        self.finish()

    def test_what_is_no_frame_is_hung_up_on(self):
        with wire.Connection(self.addresses[0]) as connection:
            connection.open()
            connection.send(wire.head(1, 11) + b"neither header".ljust(128) + b"nor payload")
            self.assertTrue(connection.hung_up())
        for frames, length in ((1, 2**31), (2**31, 1), (0, 0)):
            with wire.Connection(self.addresses[1]) as connection:
                connection.open()
                connection.send(wire.head(frames, length))
                self.assertTrue(connection.hung_up())
        self.finish()

    def test_silence_is_hung_up_on(self):
        """However much a peer has sent: without a hello its connection is closed."""
        words = {"nothing": b"", "half a greeting": wire.greeting()[:9],
                 "a greeting": wire.greeting(), "a head": wire.greeting() + wire.head(1, 100)}
        held = {}
        for name, data in words.items():
            held[name] = wire.Connection(self.addresses[0], SILENCE_SECONDS)
            held[name].send(data)
        for name, connection in held.items():
            with self.subTest(name):
                self.assertTrue(connection.hung_up(), "it is still held")
            connection.close()
        self.finish()

    def test_unfinished_messages_cost_no_memory(self):
        """Messages of the maximum size that never end, from pending connections."""
        held = []
        for i in range(24):
            connection = wire.Connection(self.addresses[i % len(self.addresses)]).open()
            connection.send(wire.head(1, 16 << 20) + bytes(15 << 20))
            held.append(connection)
        self.check()
        for connection in held:
            connection.close()
        self.finish()


class Newcomers(cluster.ClusterTest):

    def test_let_in_during_a_flood(self):
        job = cluster.ByHand(self, STRETTO_JOB_TOKEN="the secret", STRETTO_LOG_LEVEL="debug")
        for rank in (0, 1):
            job.server(rank)
        job.worker(0)
        for name in ("server 0", "server 1", "worker 0"):
            job.scheduler.expect(f"{name} came from")
        addresses = [("127.0.0.1", port) for name in ("scheduler", "server 0", "server 1")
                     for port in cluster.listening_ports(job.everybody[name].pid)]
        held = attacks.loris(addresses, LORISES)
        over = threading.Event()

        def attack():
            while not over.is_set():
                attacks.flood(addresses[:1], 100)

        flood = threading.Thread(target=attack)
        flood.start()
        try:
            since = time.monotonic()
            worker = job.worker(1)
            worker.expect("joined as 1 of 2", NEWCOMER_SECONDS)
            took = time.monotonic() - since
        finally:
            over.set()
            flood.join()
        print(f"MEASURED a newcomer during a flood: admitted after {took * 1000:.0f} ms")
        for process in job.everybody.values():
            self.assertEqual(process.end(), 0, process.output())
        for connection in held:
            connection.close()
        self.assert_nobody_left()


class EndlessMessages(cluster.ClusterTest):
    """Messages without end, from 100 connections: each is closed, and the processes do not grow."""

    CONNECTIONS = 100

    def setUp(self):
        super().setUp()
        self.peak = {}

    def grow(self, processes, attack):
        """Runs the attack; checks and prints the largest growth of each process."""
        before = {process.name: cluster.resident_bytes(process.pid)
                  for process in processes}
        peak = dict(before)
        over = threading.Event()

        def look():
            while not over.wait(0.01):
                for process in processes:
                    with contextlib.suppress(OSError, AttributeError):
                        now = cluster.resident_bytes(process.pid)
                        peak[process.name] = max(peak[process.name], now)

        looks = threading.Thread(target=look)
        looks.start()
        try:
            said = attack()
        finally:
            over.set()
            looks.join()
        growth = {name: (peak[name] - before[name]) >> 10 for name in before}
        print(f"MEASURED {said >> 10} KiB of endless messages were taken; growth in KiB: {growth}")
        for name, kib in growth.items():
            self.assertLess(kib << 10, MOST_GROWTH, name)

    def test_from_strangers_and_from_who_knows_the_token(self):
        job = cluster.ByHand(self, workers=2, servers=1, STRETTO_JOB_TOKEN="the secret",
                             STRETTO_DEAD_AFTER_S=30)
        host, _, port = job.address.rpartition(":")
        scheduler = (host, int(port))
        with wire.Connection(scheduler) as member:
            member.open()
            hello = wire.hello(rank=1, servers=1, token="the secret")
            member.send(wire.control(hello))
            self.assertEqual(member.receive_control()[0], wire.WELCOME)
            server = job.server(0)
            job.worker(0, ("--rounds", 10**9))
            self.assertEqual(member.receive_control()[0], wire.ROSTER)
            addresses = [scheduler] + [("127.0.0.1", port) for port
                                       in cluster.listening_ports(server.pid)]
            processes = [job.scheduler, server]
            self.grow(processes,
                      lambda: attacks.endless_messages(addresses, self.CONNECTIONS))
            self.grow(processes,
                      lambda: attacks.endless_messages(addresses, self.CONNECTIONS, hello))
            self.assertTrue(job.scheduler.running() and server.running())

            def as_member():
                data = wire.head(1, 2**32 - 1) + bytes(2 << 20)
                said = 0
                while said < 20 * len(data) and member.send(data):
                    said += len(data)
                return said

            self.grow(processes, as_member)
            for role, process in job.everybody.items():
                self.assertEqual(process.end(10), cluster.exit_of_loss(role), process.output())
                self.one_error(process, "PeerLost", "worker 1")
        self.assert_nobody_left()


class Members(cluster.ClusterTest):
    """An admitted worker that then sends garbage costs the job, but crashes no process."""

    @staticmethod
    def nonsense(node):
        """The messages of node `node` after its hello."""
        def said(kind, content=b"", **fields):
            given = {"sequence": 2, "sender": node} | fields
            return wire.control(wire.body(kind, content), **given)

        def data(kind, payload=b"", **fields):
            return wire.message(wire.header(len(payload), kind=kind, sequence=2, sender=node,
                                            **fields), payload)
        return {
            "no frame": wire.head(0, 1) + b"x",
            "a lost frame": said(wire.HEARTBEAT, sequence=9),
            "another's name": said(wire.LEAVE, sender=node + 1),
            "data": data(wire.PUSH, bytes(4), dtype=1),
            "credit for nothing": data(wire.CREDIT, credit=10**9),
            "a barrier far ahead": said(wire.BARRIER, wire.fields(f1=2**63)),
            "a control message that is none": wire.message(
                wire.header(3, sequence=2, sender=node), b"\xff\xff\xff"),
        }

    def test_nonsense(self):
        for name in self.nonsense(0):
            with self.subTest(name):
                # The peer sends no heartbeats, and the others may take their time to start.
                job = cluster.ByHand(self, workers=2, servers=1, STRETTO_DEAD_AFTER_S=30)
                host, _, port = job.address.rpartition(":")
                with wire.Connection((host, int(port))) as stranger:
                    stranger.open()
                    stranger.send(wire.control(wire.hello(rank=1, workers=2, servers=1)))
                    kind, welcome = stranger.receive_control()
                    self.assertEqual(kind, wire.WELCOME)
                    job.server(0)
                    job.worker(0, ("--rounds", 10**9))
                    kind, _ = stranger.receive_control()
                    self.assertEqual(kind, wire.ROSTER)
                    since = time.monotonic()
                    stranger.send(self.nonsense(welcome[1])[name])
                    for role, process in job.everybody.items():
                        self.assertEqual(process.end(10), cluster.exit_of_loss(role),
                                         process.output())
                        self.one_error(process, "PeerLost", "worker 1")
                    took = max(p.ended_at for p in job.everybody.values()) - since
                    print(f"MEASURED a member says '{name}': all had ended after "
                          f"{took * 1000:.0f} ms")
                self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
