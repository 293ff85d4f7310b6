# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests of benchmarks in network namespaces: whether such a lab can be made, and the
leftovers of a lab.
"""

import os
import pathlib
import subprocess
import sys
import unittest

NAMESPACES = pathlib.Path("/run/netns")
NOT_RUN = 77  # The status that CMake's SKIP_RETURN_CODE names.


def why_no_lab():
    """What this user or system lacks for a lab, checked without the benchmark; "" if nothing."""
    network, shaper = f"stretto-{os.getpid()}-probe", ["tbf", "rate", "1gbit", "burst", "128kb"]
    tries = [["ip", "netns", "add", network],
             ["ip", "-n", network, "link", "add", "one", "type", "veth", "peer", "name", "two"],
             ["ip", "-n", network, "link", "add", "three", "type", "bridge"],
             ["tc", "-n", network, "qdisc", "add", "dev", "one", "root", *shaper, "limit", "4mb"]]
    try:
        for command in tries:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return f"`{' '.join(command)}` says: {done.stderr.strip()}"
        return ""
    except FileNotFoundError as missing:
        return f"{missing.filename} is not installed; it is in iproute2"
    finally:
        if (NAMESPACES / network).exists():
            subprocess.run(["ip", "netns", "del", network], check=True)


def namespaces_of(pid):
    """The namespaces of the benchmark with this process id."""
    return sorted(path.name for path in NAMESPACES.glob(f"stretto-{pid}-*"))


def run_where_possible(with_lab, without):
    """Runs one of two TestCases; returns the exit status. That is NOT_RUN if only the refusal could
    be tested."""
    missing = why_no_lab()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(without if missing else with_lab)
    if not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful():
        return 1
    if missing:
        print(f"no lab can be made here, so only the refusal was tested: {missing}",
              file=sys.stderr)
    return NOT_RUN if missing else 0
