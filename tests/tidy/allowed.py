# SPDX-License-Identifier: Apache-2.0
"""What the style rules permit by name. An entry that nothing needs any more is an offence too."""

# Headers of van/ that other folders may include: the Van, the frame header, the control messages,
# membership, the loop and its thread, and the factory of transports; for benchmarks, the loading of
# libfabric.
VAN_DOORS = {
    "van/control.h",
    "van/control_codec.h",
    "van/fabric/library.h",
    "van/frame_views.h",
    "van/greeting.h",
    "van/loop.h",
    "van/loop_thread.h",
    "van/membership.h",
    "van/trace_agent.h",
    "van/transports.h",
    "van/van.h",
    "van/van_metrics.h",
    "van/wire.h",
}

# Headers that only these folders may include: the transport made of them, benchmarks that measure
# their limits, and tests that play a peer gone wrong.
SYSTEM_DOORS = {
    "zmq": ("van/zmq/", "tools/bench/", "tests/conformance/", "tests/van/"),
    "rdma": ("van/fabric/", "tests/conformance/", "tests/van/"),
}

# Who may include Protobuf and what it generates: besides the codec and its tests, what gRPC's calls
# are measured by.
PROTOBUF = ("checkpoint/index_codec.cc", "van/control_decode.cc", "van/control_encode.cc",
            "van/checkpoint_decode.cc", "van/heartbeat_decode.cc", "van/state_decode.cc",
            "tests/van/", "tests/fuzz/", "tools/bench/compare/grpc_unary.cc")

# What throws outside bindings/: memory that is not there has no Status to be returned in, as with
# operator new; the loops of roles catch it.
THROWS = {
    "common/buffer.cc", "common/last_words.cc", "tests/common/last_words_test.cc",
    "tests/conformance/conformance_breaks_test.cc", "tests/van/driven_waits_test.cc", "van/loop.h",
    "worker/node.cc"}

# A source without tests/FOLDER/NAME_test.cc, and the test that covers it.
COVERED_BY = {
    "common/disk.cc": "tests/conformance/disk_test.cc",
    "common/real_disk.cc": "tests/conformance/disk_test.cc",
    "van/checkpoint_decode.cc": "tests/van/control_decode_test.cc",
    "van/state_decode.cc": "tests/van/control_decode_test.cc",
    "server/rounds_image.cc": "tests/server/replication_test.cc",
    "server/ack_order.cc": "tests/server/replication_test.cc",
    "server/replica_receiver.cc": "tests/server/replication_test.cc",
    "server/replica_sender.cc": "tests/server/replication_test.cc",
    "scheduler/place_choice.cc": "tests/scheduler/moves_joining_test.cc",
    "scheduler/server_places.cc": "tests/scheduler/standbys_test.cc",
    "scheduler/view_changes.cc": "tests/scheduler/view_machine_test.cc",
    "server/restore_reads.cc": "tests/server/shard_restore_test.cc",
    "server/restored_parts.cc": "tests/server/shard_checkpoint_test.cc",
    "server/shard_archive.cc": "tests/worker/checkpoints_test.cc",
    "checkpoint/entry.cc": "tests/checkpoint/parts_file_test.cc",
    "checkpoint/index_codec.cc": "tests/checkpoint/parts_file_test.cc",
    "checkpoint/parts_reader.cc": "tests/checkpoint/parts_file_test.cc",
    "checkpoint/parts_writer.cc": "tests/checkpoint/parts_file_test.cc",
    "checkpoint/spec_json.cc": "tests/checkpoint/manifest_test.cc",
    "collective/network.cc": "tests/collective/part_path_test.cc",
    "ops/codec_avx2.cc": "tests/ops/codec_test.cc",
    "ops/codec_avx512.cc": "tests/ops/codec_test.cc",
    "ops/codec_dense.cc": "tests/ops/codec_test.cc",
    "ops/codec_dither.cc": "tests/ops/codec_test.cc",
    "ops/codec_portable.cc": "tests/ops/codec_test.cc",
    "ops/codec_sparse.cc": "tests/ops/codec_test.cc",
    "ops/cuda/device.cu": "tests/ops/cuda/device_test.cu",
    "ops/cuda/measure.cu": "tests/ops/cuda/device_test.cu",
    "ops/cuda/topk.cu": "tests/ops/cuda/device_test.cu",
    "ops/no_x86.cc": "tests/ops/sum_test.cc",
    "ops/processor_x86.cc": "tests/ops/sum_test.cc",
    "ops/sum_avx2.cc": "tests/ops/sum_test.cc",
    "ops/sum_avx512.cc": "tests/ops/sum_test.cc",
    "ops/sum_portable.cc": "tests/ops/sum_test.cc",
    "rpc/callee.cc": "tests/rpc/node_test.cc",
    "rpc/caller.cc": "tests/rpc/node_test.cc",
    "rpc/handles.cc": "tests/rpc/endpoint_test.cc",
    "input/cursor.cc": "tests/input/faults_test.cc",
    "input/decode_pool.cc": "tests/input/reader_test.cc",
    "input/engine.cc": "tests/input/reader_test.cc",
    "input/index.cc": "tests/input/faults_test.cc",
    "common/crc32c_isal.cc": "tests/common/crc32c_test.cc",
    "common/crc32c_table.cc": "tests/common/crc32c_test.cc",
    "input/no_uring.cc": "tests/input/backend_test.cc",
    "input/open_file.cc": "tests/input/backend_test.cc",
    "input/requests.cc": "tests/input/faults_test.cc",
    "input/sample_check.cc": "tests/input/faults_test.cc",
    "input/settings.cc": "tests/input/faults_test.cc",
    "input/threads.cc": "tests/input/backend_test.cc",
    "input/uring.cc": "tests/input/backend_test.cc",
    "worker/request.cc": "tests/worker/worker_test.cc",
    "worker/training/tensor_restore.cc": "tests/worker/training/parameters_checkpoint_test.cc",
    "worker/batch.cc": "tests/worker/worker_test.cc",
    "worker/exchange_way.cc": "tests/worker/exchanges_test.cc",
    "worker/host_calls.cc": "tests/worker/host_exchange_test.cc",
    "worker/member_calls.cc": "tests/worker/group_test.cc",
    "worker/worker_impl.cc": "tests/worker/worker_test.cc",
    "worker/elastic_members.cc": "tests/worker/member_exchange_test.cc",
    "worker/member_ends.cc": "tests/worker/member_exchange_test.cc",
    "worker/member_part.cc": "tests/worker/member_exchange_test.cc",
    "worker/member_rounds.cc": "tests/worker/member_exchange_test.cc",
    "worker/peer_links.cc": "tests/worker/member_exchange_test.cc",
    "worker/server_exchange.cc": "tests/worker/exchanges_test.cc",
    "van/heartbeat_decode.cc": "tests/van/control_decode_test.cc",
    "scheduler/no_page.cc": "tests/scheduler/page_test.cc",
    "scheduler/page_server.cc": "tests/scheduler/page_test.cc",
    "scheduler/agreements.cc": "tests/scheduler/scheduler_test.cc",
    "scheduler/comebacks.cc": "tests/scheduler/scheduler_returns_test.cc",
    "scheduler/onlookers.cc": "tests/scheduler/scheduler_trace_test.cc",
    "scheduler/replay.cc": "tests/scheduler/scheduler_returns_test.cc",
    "scheduler/hello.cc": "tests/scheduler/admission_test.cc",
    "scheduler/watch/job_watch.cc": "tests/scheduler/scheduler_test.cc",
    "scheduler/main.cc": "tests/e2e/install_test.py",
    "core/roster.cc": "tests/van/tensor_spec_test.cc",
    "core/tensor_spec.cc": "tests/van/tensor_spec_test.cc",
    "server/main.cc": "tests/e2e/install_test.py",
    "server/part_layout.cc": "tests/server/store_means_test.cc",
    "server/share.cc": "tests/server/collector_test.cc",
    "observe/metrics/address.cc": "tests/observe/metrics/endpoint_test.cc",
    "observe/metrics/no_endpoint.cc": "tests/observe/metrics/endpoint_test.cc",
    "van/debts.cc": "tests/van/van_test.cc",
    "van/kept_frames.cc": "tests/van/session_takeover_test.cc",
    "van/heartbeats.cc": "tests/van/membership_test.cc",
    "van/link_lives.cc": "tests/van/van_test.cc",
    "van/link_mender.cc": "tests/van/takeover_test.cc",
    "van/receiver.cc": "tests/van/van_test.cc",
    "van/sender.cc": "tests/van/van_test.cc",
    "van/van_metrics.cc": "tests/observe/metrics/board_test.cc",
    "observe/trace/chrome_read.cc": "tests/observe/trace/chrome_test.cc",
    "observe/trace/critical.cc": "tests/observe/trace/analysis_test.cc",
    "observe/trace/flows.cc": "tests/observe/trace/analysis_test.cc",
    "observe/trace/measured.cc": "tests/observe/trace/report_test.cc",
    "observe/trace/recorder.cc": "tests/observe/trace/file_test.cc",
    "observe/trace/standstill.cc": "tests/observe/trace/report_test.cc",
    "observe/trace/timeline.cc": "tests/observe/trace/chrome_test.cc",
    "van/fabric/address_book.cc": "tests/conformance/fabric_ends_test.cc",
    "van/fabric/endpoint.cc": "tests/conformance/conformance_test.cc",
    "van/fabric/fabric_transport.cc": "tests/conformance/conformance_test.cc",
    "van/fabric/fabric_links.cc": "tests/conformance/conformance_test.cc",
    "van/fabric/frame_delivery.cc": "tests/conformance/conformance_test.cc",
    "van/fabric/path_watch.cc": "tests/conformance/conformance_breaks_test.cc",
    "van/fabric/introduction.cc": "tests/conformance/fabric_hostile_test.cc",
    "van/fabric/library.cc": "tests/conformance/fabric_ends_test.cc",
    "van/fabric/line_word.cc": "tests/van/fabric_line_word_test.cc",
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
    "van/shm/acceptor.cc": "tests/conformance/shm_hostile_test.cc",
    "van/shm/bells.cc": "tests/conformance/shm_bells_test.cc",
    "van/shm/far_memory.cc": "tests/conformance/shm_hostile_test.cc",
    "van/shm/line.cc": "tests/conformance/shm_hostile_test.cc",
    "van/shm/link.cc": "tests/conformance/conformance_test.cc",
    "van/shm/memory.cc": "tests/conformance/shm_hostile_test.cc",
    "van/shm/shm_transport.cc": "tests/conformance/conformance_test.cc",
    "van/shm/shm_way.cc": "tests/conformance/shm_ends_test.cc",
    "van/shm/socket.cc": "tests/conformance/shm_hostile_test.cc",
    "van/shm/strangers.cc": "tests/conformance/shm_hostile_test.cc",
    "van/zmq/departures.cc": "tests/conformance/conformance_test.cc",
    "van/zmq/dialer.cc": "tests/conformance/zmq_ends_test.cc",
    "van/zmq/dialing.cc": "tests/conformance/zmq_ends_test.cc",
    "van/zmq/name_lookup.cc": "tests/conformance/zmq_ends_test.cc",
    "van/zmq/zmq_links.cc": "tests/conformance/zmq_ends_test.cc",
    "van/zmq/address.cc": "tests/conformance/conformance_test.cc",
    "van/zmq/frames.cc": "tests/conformance/zmq_hostile_test.cc",
    "van/zmq/batch.cc": "tests/conformance/zmq_hostile_test.cc",
    "van/lanes.cc": "tests/van/send_queue_model_test.cc",
    "van/ready_links.cc": "tests/van/send_queue_model_test.cc",
    "van/zmq/connection.cc": "tests/conformance/zmq_ends_test.cc",
    "van/zmq/intake.cc": "tests/conformance/zmq_intake_test.cc",
    "van/zmq/listener.cc": "tests/conformance/zmq_ends_test.cc",
    "van/zmq/unadmitted.cc": "tests/conformance/zmq_ends_test.cc",
    "van/zmq/zmtp.cc": "tests/conformance/zmq_intake_test.cc",
    "van/zmq/zmq_transport.cc": "tests/conformance/conformance_test.cc",
}

# Files with a static that changes, and why there is no other way.
MUTABLE_STATICS = {
    "common/last_words.cc": "the process has one handler of each kind; they take no arguments",
    "common/home_process.cc": "what is called after a fork takes no arguments",
    "common/log.cc": "the log's one state; threads may log while the process exits",
    "common/input_account.cc": "the default of readers' and workers' options (decision 0048)",
    "input/uring.cc": "one mutex for all rings: their addresses are the process's",
    "bindings/python/core/gil.cc": "the interpreter ends once, and its lock is the process's",
    "worker/notice_watch.cc": "the process has one handler of SIGTERM, and it takes no arguments",
}

# Files that may sleep, and why. Nothing polls with a sleep.
SLEEPERS = {
    "tools/bench/pace.cc": "a sleep to an absolute time stands for a computation of known length",
    "tools/bench/compare/capped_flow": "a rate is looked at once connections have grown",
    "tools/bench/compare/stragglers": "a sleep stands for a computation of known length",
    "tools/bench/compare/local_churn": "between changes of the job's members that are measured",
    "tests/bindings/standing_worker.py": "emulates steps, evaluation and saving of some length",
    "examples/converge/training.cc": "emulates computing: a step takes as long as was asked for",
}

# Classes over the limits of 350 lines with their bodies or 25 methods, and their size today: none
# may grow, and what has been divided leaves the list.
LARGE_CLASSES = {
    # The public API: overloads for bytes, numbers and groups, and their checks.
    "worker/include/stretto/worker.h:Worker": (268, 30),
}

# Names that several classes share, in different namespaces or files, and how many do: no more may.
NAMESAKES = {
    "Member": 2,
    "Options": 3,
}
