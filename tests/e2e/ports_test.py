# SPDX-License-Identifier: Apache-2.0
"""Fixed ports: a job listens at the configured ports; the error for a port in use."""

import signal
import socket
import unittest

import cluster

ATTEMPTS = 5  # To find a range of ports that stays free.


def free_ports(count):
    """The first of `count` consecutive ports that are free now."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as found:
            first = found.getsockname()[1]
        try:
            for port in range(first, first + count):
                socket.create_server(("127.0.0.1", port)).close()
        except (OSError, OverflowError):
            continue
        return first


class Ports(cluster.ClusterTest):

    def job_at(self, first):
        """A started job of 2 servers of 2 shards; None if another process took a port."""
        job = self.train("--rounds", 1_000_000, launcher=["--port", first, "--shards", 2])
        match = job.expect("all are here|Address already in use")
        if match.group(0) == "all are here":
            return job
        job.end()
        return None

    def test_fixed_ports(self):
        for _ in range(ATTEMPTS):
            first = free_ports(5)
            job = self.job_at(first)
            if job is not None:
                break
        self.assertEqual(cluster.listening_ports(job.member("scheduler")), [first])
        for rank in range(2):
            ports = cluster.listening_ports(job.member(f"server {rank}"))
            self.assertEqual(sorted(ports), [first + 1 + 2 * rank, first + 2 + 2 * rank])
        for rank in range(2):
            own = cluster.listening_ports(job.member(f"worker {rank}"))  # For other workers.
            self.assertEqual(len(own), 1)
            self.assertNotIn(own[0], range(first, first + 5))
        job.send(signal.SIGTERM)
        job.end()
        self.assert_nobody_left()

    def test_a_server_s_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as holder:
            port = holder.getsockname()[1]
            server = self.start("server", [cluster.SERVER, "--port", port, "--scheduler",
                                           "127.0.0.1:9", "--rank", 0])
            self.assertEqual(server.end(), 1)
        self.assertEqual(len(server.lines), 1, server.output())
        self.assertIn(f"wanted to listen at '127.0.0.1:{port}': Address already in use",
                      server.lines[0])

    def test_a_port_of_metrics_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as holder:
            port = holder.getsockname()[1]
            job = self.train("--rounds", 20, STRETTO_METRICS_ADDRESS=port)
            self.assert_success(job)
        said = [line for line in job.lines if f"127.0.0.1:{port}: Address already in use" in line]
        self.assertEqual(len(said), 1, job.output())  # The next ports may be in use by others.
        self.assertIn("no metrics are served", said[0])

    def test_what_is_set_in_vain_is_said(self):
        job = self.train("--rounds", 20, STRETTO_SCHEDULER="192.0.2.9:9700",
                         STRETTO_WORLD_SIZE=2)
        self.assert_success(job)
        said = [line for line in job.lines if line.startswith("[launcher] warning")]
        self.assertEqual(len(said), 1, job.output())
        self.assertIn("STRETTO_SCHEDULER is '192.0.2.9:9700', and is not used", said[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
