// SPDX-License-Identifier: Apache-2.0
// What --help prints.
#include "tools/bench/settings.h"

namespace stretto::bench {

std::string_view help_text() {
  return R"(usage: stretto-bench NAME [FLAG]...

  limits     what this machine can do: memory, TCP, ZeroMQ, libfabric, a ring in shared memory
  push_pull  a cluster of real processes exchanges tensors: workers push, and receive the sum
  push       the same, without receiving
  pull       the same, without pushing
  idle       what a cluster costs that has nothing to do
  preempt    how long an urgent message takes beside a large transfer on one shaped link, which it
             makes in network namespaces (as root)

every benchmark
  --json       one JSON object a line on stdout, and nothing else there
  --seconds S  push_pull, push, pull: of measuring, and as long again for the limit (3)
               limits: of each measurement (0.2); idle: of watching (10)
               preempt: of urgent messages beside the background (2)
  --help, --version

limits, push_pull, push, pull, preempt
  --repeats N  how often all is measured, by turns; medians are reported (limits 5, preempt 3,
               others 1)

push_pull, push, pull, idle
  --workers N, --servers N, --shards N   processes, and shards of each server (2, 2, 1)

push_pull, push, pull
  --bytes N,...       of one tensor of f32; K, M, G stand for KiB, MiB, GiB (16M)
  --inflight N        tensors under way at a time (4 from 1 MiB on, 1 below)
  --part_bytes N      unit of pipelining (STRETTO_PART_BYTES, or the default)
  --transport auto|zmq|shm|fabric
                      how servers and workers meet (STRETTO_TRANSPORT, or auto: shared memory)

preempt
  --rate_mbit N         of the shaped link (1000)
  --peers N             receivers, which share it (1)
  --bottleneck host|router   shaped at the sender, or behind a router's queue of 1 MB (host)
  --background_bytes N  under way to each peer at any time (64M), in parts of --part_bytes (256K)
  --urgent_bytes N      of the urgent message and of its answer (4096)
  --mode MODE,...       fifo: in its turn; priority: first, but all may be under way; preempt: as
                        Stretto does it (preempt)
  --baselines           also zmq_one_message (the background as one message, as ps-lite sends it)
                        and tcp_credit_2x64k (plain TCP, two chunks of 64 KiB unacknowledged)
  --transport auto|zmq

what the numbers mean (GB is 1e9 bytes, CPU of user and kernel together)
  gb_per_s             bytes of one tensor / time of one operation, at one worker, with --inflight
                       tensors under way; the mean of the workers
  p50_us, p99_us       from the call of one operation to its end, while others are under way; p50 of
                       the median worker, p99 of the worst
  worker_cpu_s_per_gb  CPU of the workers / bytes of tensors, counted once at each worker
  server_cpu_s_per_gb  CPU of the servers / the same bytes
  limit, gb_per_s_limit, ratio
                       what libzmq moves without Stretto, in the same run: as many processes and
                       endpoints, each message of a part's size answered by as many bytes, without
                       summing. Measured before and after, with 1, 4 and 16 messages under way at
                       each endpoint (and not more than --inflight has parts); the best median
                       counts. ratio is gb_per_s / gb_per_s_limit
  cpu_share            CPU seconds / seconds
  urgent_p50_ms ...    from handing the urgent message over until its answer is there; p50 and p95
                       are medians of the rounds, max is of all
  unloaded_p50_ms      the same, without a background
  background_gb_per_s  background that the peers have; unloaded_gb_per_s without urgent messages
  raw_tcp_gb_per_s     what one TCP connection with cubic carries over the same link
  goodput_ratio, rate_used
                       background and urgent bytes / raw TCP, and / the nominal rate

Sums are checked before and after measuring; a wrong one ends the benchmark with an error.
Exit status: 0; 1 if a measurement failed; 2 if the command line cannot be used.
)";
}

}  // namespace stretto::bench
