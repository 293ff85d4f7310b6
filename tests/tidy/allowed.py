# SPDX-License-Identifier: Apache-2.0
"""What the style rules permit by name. An entry that nothing needs any more is an offence too."""

# Headers of van/ that other folders may include: the Van, the frame header, the control messages,
# membership, the loop, and the factory of transports; for benchmarks, the loading of libfabric.
VAN_DOORS = {
    "van/control.pb.h",
    "van/fabric/library.h",
    "van/greeting.h",
    "van/loop.h",
    "van/membership.h",
    "van/messages.h",
    "van/transports.h",
    "van/van.h",
    "van/wire.h",
}

# Headers that only these folders may include: the transport made of them, benchmarks that measure
# their limits, and tests that play a peer gone wrong.
SYSTEM_DOORS = {
    "zmq": ("van/zmq/", "tools/bench/", "tests/conformance/", "tests/van/"),
    "rdma": ("van/fabric/", "tools/bench/", "tests/conformance/", "tests/van/"),
}

# A source without tests/FOLDER/NAME_test.cc, and the test that covers it.
COVERED_BY = {
    "ops/no_x86.cc": "tests/ops/sum_test.cc",
    "ops/processor_x86.cc": "tests/ops/sum_test.cc",
    "ops/sum_avx2.cc": "tests/ops/sum_test.cc",
    "ops/sum_avx512.cc": "tests/ops/sum_test.cc",
    "ops/sum_portable.cc": "tests/ops/sum_test.cc",
    "common/memory.cc": "tests/e2e/rounds_test.py",
    "scheduler/main.cc": "tests/e2e/install_test.py",
    "server/main.cc": "tests/e2e/install_test.py",
    "van/fabric/endpoint.cc": "tests/conformance/conformance_test.cc",
    "van/fabric/fabric_transport.cc": "tests/conformance/conformance_test.cc",
    "van/fabric/introduction.cc": "tests/conformance/fabric_hostile_test.cc",
    "van/fabric/library.cc": "tests/conformance/fabric_ends_test.cc",
    "van/fabric/message.cc": "tests/conformance/fabric_hostile_test.cc",
    "van/fabric/name_exchange.cc": "tests/conformance/fabric_hostile_test.cc",
    "van/fabric/no_fabric.cc": "tests/conformance/fabric_ends_test.cc",
    "van/fabric/provider.cc": "tests/conformance/fabric_ends_test.cc",
    "van/fabric/slots.cc": "tests/conformance/conformance_test.cc",
    "van/fabric/socket.cc": "tests/conformance/conformance_breaks_test.cc",
    "van/fabric/traffic.cc": "tests/conformance/fabric_hostile_test.cc",
    "van/inproc/directory.cc": "tests/conformance/conformance_test.cc",
    "van/inproc/inproc_transport.cc": "tests/conformance/conformance_test.cc",
    "van/inproc/mailbox.cc": "tests/conformance/conformance_test.cc",
    "van/composite.cc": "tests/conformance/shm_ends_test.cc",
    "van/shm/far_memory.cc": "tests/conformance/shm_hostile_test.cc",
    "van/shm/line.cc": "tests/conformance/shm_hostile_test.cc",
    "van/shm/link.cc": "tests/conformance/conformance_test.cc",
    "van/shm/memory.cc": "tests/conformance/shm_hostile_test.cc",
    "van/shm/shm_transport.cc": "tests/conformance/conformance_test.cc",
    "van/shm/shm_way.cc": "tests/conformance/shm_ends_test.cc",
    "van/shm/socket.cc": "tests/conformance/shm_hostile_test.cc",
    "van/shm/strangers.cc": "tests/conformance/shm_hostile_test.cc",
    "van/watch.cc": "tests/conformance/conformance_test.cc",
    "van/zmq/address.cc": "tests/conformance/conformance_test.cc",
    "van/zmq/dealer_link.cc": "tests/conformance/conformance_test.cc",
    "van/zmq/frames.cc": "tests/conformance/zmq_hostile_test.cc",
    "van/zmq/handles.cc": "tests/conformance/conformance_test.cc",
    "van/zmq/monitor.cc": "tests/conformance/conformance_breaks_test.cc",
    "van/zmq/peers.cc": "tests/conformance/zmq_peers_test.cc",
    "van/zmq/poller.cc": "tests/conformance/conformance_test.cc",
    "van/zmq/router_links.cc": "tests/conformance/conformance_test.cc",
    "van/zmq/zmq_transport.cc": "tests/conformance/conformance_test.cc",
}

# Files with a static that changes, and why there is no other way.
MUTABLE_STATICS = {
    "common/log.cc": "the log's one state; threads may log while the process exits",
}

# Files that may sleep, and why. Nothing polls with a sleep.
SLEEPERS = {}
