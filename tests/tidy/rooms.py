# SPDX-License-Identifier: Apache-2.0
"""The map of rooms: each folder of an area, lowest floor first, and the rooms of the same area that
its files may include. What areas may include of one another is FLOORS in rules_structure.py.
"""

# Areas whose folders are rooms. A folder below one of these needs an entry in ROOMS.
AREAS = ("common", "van", "server", "worker", "scheduler", "tools/launch", "tools/bench", "input",
         "experiments", "bindings/python/stretto")

ROOMS = {
    # common/
    "common/include/stretto": (),
    "common": ("common/include/stretto",),
    "common/files": ("common", "common/include/stretto"),
    "common/memory": ("common", "common/include/stretto"),
    "common/process": ("common", "common/include/stretto"),
    "common/threads": ("common", "common/include/stretto"),
    "common/network": ("common", "common/include/stretto", "common/memory"),
    "common/config": (
        "common", "common/files", "common/include/stretto", "common/memory", "common/network",
        "common/process"),
    "common/flags": ("common", "common/config", "common/include/stretto"),
    "common/launch_protocol": ("common/config", "common/include/stretto"),
    # van/
    "van/wire": (),
    "van/control": ("van/wire",),
    "van/transport": ("van/wire",),
    "van/event_loop": ("van/transport",),
    "van/fabric": ("van/transport", "van/wire"),
    "van/inproc": ("van/transport",),
    "van/path": ("van/transport",),
    "van/queue": ("van/transport", "van/wire"),
    "van/shm": ("van/transport", "van/wire"),
    "van/tcp": ("van/transport", "van/wire"),
    "van/zmq": ("van/transport", "van/wire"),
    "van": ("van/fabric", "van/shm", "van/tcp", "van/transport", "van/zmq"),
    "van/host_window": ("van/queue", "van/transport"),
    "van/session": ("van/control", "van/queue", "van/transport", "van/wire"),
    "van/pacing": ("van/host_window", "van/path", "van/queue", "van/wire"),
    "van/engine": (
        "van/control", "van/event_loop", "van/host_window", "van/pacing", "van/path",
        "van/session", "van/transport", "van/wire"),
    "van/membership": ("van/control", "van/engine"),
    # server/
    "server/aggregation": (),
    "server/storage": ("server/aggregation",),
    "server/checkpoint": ("server/storage",),
    "server/monitoring": ("server/storage",),
    "server/sessions": ("server/aggregation", "server/monitoring", "server/storage"),
    "server/recovery": ("server/aggregation", "server/sessions", "server/storage"),
    "server/replication": ("server/aggregation", "server/sessions", "server/storage"),
    "server": (
        "server/checkpoint", "server/monitoring", "server/recovery", "server/replication",
        "server/sessions", "server/storage"),
    # worker/
    "worker/include/stretto": (),
    "worker/peers": (),
    "worker/operations": ("worker/include/stretto",),
    "worker/training/include/stretto": ("worker/include/stretto",),
    "worker/elastic": ("worker/include/stretto", "worker/operations"),
    "worker/peer_state": ("worker/operations",),
    "worker/server_path": ("worker/operations",),
    "worker/training": ("worker/include/stretto", "worker/training/include/stretto"),
    "worker/host_path": ("worker/operations", "worker/peer_state", "worker/peers"),
    "worker/peer_path": (
        "worker/host_path", "worker/operations", "worker/peer_state", "worker/peers"),
    "worker/exchange": (
        "worker/operations", "worker/peer_path", "worker/peers", "worker/server_path"),
    "worker/barriers": ("worker/exchange", "worker/operations"),
    "worker/monitoring": ("worker/exchange",),
    "worker/checkpoint": ("worker/barriers", "worker/operations"),
    "worker": (
        "worker/barriers", "worker/checkpoint", "worker/elastic", "worker/exchange",
        "worker/monitoring", "worker/peer_state", "worker/server_path"),
    "worker/api": ("worker", "worker/elastic", "worker/include/stretto", "worker/operations"),
    # scheduler/
    "scheduler/checkpoint": (),
    "scheduler/dashboard": (),
    "scheduler/membership": (),
    "scheduler/monitoring": (),
    "scheduler/journal": ("scheduler/membership",),
    "scheduler/launcher": ("scheduler/membership", "scheduler/monitoring"),
    "scheduler/sessions": ("scheduler/launcher", "scheduler/membership", "scheduler/monitoring"),
    "scheduler/coordination": ("scheduler/journal", "scheduler/membership", "scheduler/sessions"),
    "scheduler/migration": (
        "scheduler/journal", "scheduler/launcher", "scheduler/membership", "scheduler/monitoring",
        "scheduler/sessions"),
    "scheduler/recovery": (
        "scheduler/checkpoint", "scheduler/coordination", "scheduler/journal",
        "scheduler/membership", "scheduler/migration", "scheduler/monitoring",
        "scheduler/sessions"),
    "scheduler/observers": (
        "scheduler/coordination", "scheduler/journal", "scheduler/membership",
        "scheduler/migration", "scheduler/monitoring", "scheduler/recovery", "scheduler/sessions"),
    "scheduler": (
        "scheduler/checkpoint", "scheduler/coordination", "scheduler/dashboard",
        "scheduler/journal", "scheduler/launcher", "scheduler/membership", "scheduler/migration",
        "scheduler/monitoring", "scheduler/observers", "scheduler/recovery", "scheduler/sessions"),
    # tools/launch/
    "tools/launch/protocol": (),
    "tools/launch/plan": ("tools/launch/protocol",),
    "tools/launch/process": ("tools/launch/plan",),
    "tools/launch/remote": ("tools/launch/plan", "tools/launch/process", "tools/launch/protocol"),
    "tools/launch/supervision": ("tools/launch/plan", "tools/launch/process"),
    "tools/launch/join": ("tools/launch/plan", "tools/launch/process", "tools/launch/supervision"),
    "tools/launch/preflight": ("tools/launch/plan", "tools/launch/process", "tools/launch/remote"),
    "tools/launch": (
        "tools/launch/join", "tools/launch/plan", "tools/launch/preflight", "tools/launch/process",
        "tools/launch/remote", "tools/launch/supervision"),
    # tools/bench/
    "tools/bench/support": (),
    "tools/bench/rpc": ("tools/bench/support",),
    "tools/bench/settings": ("tools/bench/rpc", "tools/bench/support"),
    "tools/bench/limits": ("tools/bench/settings", "tools/bench/support"),
    "tools/bench/exchange": ("tools/bench/limits", "tools/bench/settings", "tools/bench/support"),
    "tools/bench": (
        "tools/bench/exchange", "tools/bench/rpc", "tools/bench/settings", "tools/bench/support"),
    "tools/bench/preempt": (
        "tools/bench/exchange", "tools/bench/limits", "tools/bench/settings",
        "tools/bench/support"),
    "tools/bench/recover": ("tools/bench/exchange", "tools/bench/settings", "tools/bench/support"),
    # input/
    "input/include/stretto": (),
    "input": ("input/include/stretto",),
    "input/formats": ("input/include/stretto",),
    "input/io": ("input", "input/formats", "input/include/stretto"),
    "input/order": ("input/formats",),
    "input/tuning": ("input", "input/formats", "input/include/stretto", "input/io"),
    "input/reader": (
        "input/formats", "input/include/stretto", "input/io", "input/order", "input/tuning"),
    # experiments/
    "experiments/io": (),
    "experiments/models": (),
    "experiments/replay": ("experiments/models",),
    "experiments": ("experiments/io", "experiments/replay"),
    # bindings/python/stretto/
    "bindings/python/stretto": (),
    "bindings/python/stretto/horovod": (),
    "bindings/python/stretto/input": ("bindings/python/stretto",),
    "bindings/python/stretto/torch/core": ("bindings/python/stretto",),
    "bindings/python/stretto/torch/collectives": (
        "bindings/python/stretto", "bindings/python/stretto/torch/core"),
    "bindings/python/stretto/torch/elastic": (
        "bindings/python/stretto", "bindings/python/stretto/input",
        "bindings/python/stretto/torch/core"),
    "bindings/python/stretto/horovod/torch/elastic": ("bindings/python/stretto/torch/elastic",),
    "bindings/python/stretto/torch/checkpointing": (
        "bindings/python/stretto", "bindings/python/stretto/torch/core",
        "bindings/python/stretto/torch/elastic"),
    "bindings/python/stretto/torch/distributed": (
        "bindings/python/stretto", "bindings/python/stretto/torch/collectives",
        "bindings/python/stretto/torch/core"),
    "bindings/python/stretto/torch/gradients": (
        "bindings/python/stretto", "bindings/python/stretto/torch/core",
        "bindings/python/stretto/torch/elastic"),
    "bindings/python/stretto/torch/optim": (
        "bindings/python/stretto", "bindings/python/stretto/torch/core",
        "bindings/python/stretto/torch/elastic", "bindings/python/stretto/torch/gradients"),
    "bindings/python/stretto/torch/local_sgd": (
        "bindings/python/stretto", "bindings/python/stretto/torch/core",
        "bindings/python/stretto/torch/elastic", "bindings/python/stretto/torch/gradients",
        "bindings/python/stretto/torch/optim"),
    "bindings/python/stretto/torch": (
        "bindings/python/stretto", "bindings/python/stretto/torch/checkpointing",
        "bindings/python/stretto/torch/collectives", "bindings/python/stretto/torch/core",
        "bindings/python/stretto/torch/elastic", "bindings/python/stretto/torch/local_sgd",
        "bindings/python/stretto/torch/optim"),
    "bindings/python/stretto/horovod/torch": (
        "bindings/python/stretto", "bindings/python/stretto/horovod/torch/elastic",
        "bindings/python/stretto/torch", "bindings/python/stretto/torch/collectives",
        "bindings/python/stretto/torch/core", "bindings/python/stretto/torch/gradients",
        "bindings/python/stretto/torch/optim"),
}


def area_of(folder):
    """The area that holds `folder`, or None."""
    return next((area for area in AREAS if folder == area or folder.startswith(area + "/")), None)
