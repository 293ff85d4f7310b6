// SPDX-License-Identifier: Apache-2.0
// What --help prints.
#include <fmt/core.h>

#include "tools/bench/settings/settings.h"

namespace stretto::bench {

namespace {

std::string_view benchmarks_and_flags() {
  return R"(usage: stretto-bench NAME [FLAG]...

Measures how fast this machine is, and Stretto on it.

  limits     what this machine can do: memory, TCP, ZeroMQ, a ring in shared memory
  push_pull  a cluster of real processes exchanges tensors: workers push, and receive the sum
  push       the same, without receiving
  pull       the same, without pushing
  idle       what a cluster costs that has nothing to do
  rpc        calls from one process to another, beside what they cost at least, and beside gRPC
  queue      what the send queue costs: choosing the next slice, and steering what waits
  preempt    how long an urgent message takes beside a large transfer on one shaped link, which it
             makes in network namespaces (as root)
  recover    what it costs not to lose anything: checkpoints, servers that stand by, encryption,
             checksums, and the time that a killed server costs
  codec      what encoding parts, and decoding and adding them, costs one thread

every benchmark
  --json       one JSON object a line on stdout, and nothing else there
  --seconds S  push_pull, push, pull: of measuring, and as long again for the limit (3)
               limits, codec, queue: of each measurement (0.2); rpc: the same (0.3)
               idle: of watching (10)
               preempt: of urgent messages beside the background (2)
               recover: of each exchange (1)
  --help, --version

limits, codec, queue, rpc, push_pull, push, pull, preempt, recover
  --repeats N  how often all is measured, by turns; medians are reported (limits, codec, queue
               and rpc 5, preempt and recover 3, others 1)

)";
}

std::string_view other_flags() {
  return R"(push_pull, push, pull, idle
  --workers N, --servers N, --shards N   processes, and shards of each server (2, 2, 1)

codec
  --bytes N,...       of the tensor (64M)

push_pull
  --exchange servers|direct|ring|halving|tree|hierarchical|auto
                      by servers, or among workers by one of the other ways (servers)

push_pull, push, pull
  --bytes N,...       of one tensor of f32; K, M, G stand for KiB, MiB, GiB (16M)
  --inflight N        tensors in flight at a time (4 from 1 MiB on, 1 below)
  --part_bytes N      unit of pipelining (STRETTO_PART_BYTES, or the default)
  --transport auto|tcp|zmq|shm|fabric
                      how servers and workers meet (STRETTO_TRANSPORT, or auto: shared memory)
  --lab_mbit N,...    as root: a host for each worker and server, with a link of its own; the rates
                      of worker 0, 1, ..., server 0, 1, ..., the last one of all that follow
  --lab_hosts N       so many hosts instead: workers in runs of the same length, servers in turn;
                      those of a host meet as they would (--transport auto)

rpc
  --bytes N,...       of a call, and of its answer (64,64K,1M,16M)
  --inflight N,...    calls in flight at a time, each for each size (1, and 64 below 1 MiB, 4 above)
  --transport T,...   all, or some of shm, tcp, zmq, fabric: a row each (those that can be used)

preempt
  --rate_mbit N         of the shaped link (1000)
  --peers N             receivers, which share it (1)
  --direction out|in|both  of the background: from the sender, from all peers to it, or both (out)
  --urgent_peer busy|idle  with background of peers: whether the one that answers urgent messages
                        sends some too (busy)
  --bottleneck host|router   shaped at the sender, or behind a router's queue of 1 MB (host)
  --background_bytes N  in flight to each peer at any time (64M), in parts of --part_bytes (256K)
  --urgent_bytes N      of the urgent message and of its answer (4096)
  --mode MODE,...       fifo: in its turn; priority: first, but all may be in flight; preempt: as
                        Stretto does it (preempt)
  --background B,...    of preempt, bulk: as gradients travel; plain: as what declares nothing
                        (bulk,plain: a row each)
  --processes N,...     of preempt, at the sending host: 1, or 2: one with what is urgent, one with
                        the background (1)
  --host_window P,...   how they divide its window: none, fair, urgent (urgent)
  --transport auto|tcp|zmq|fabric

recover
  --workers N, --servers N  processes (2, 1)
  --rows ROW,...      some of checkpoint, restore, replicas, encrypt, crc, returns, stands_by and
                      begins_again (all)
  --bytes N           that a server keeps, and so has in a checkpoint (64M)
  --step_bytes N      of the tensor that a step exchanges, one after another of these (1M)
  --interval S        of steps with one checkpoint, and of as many without (2)
  --folder DIR        where checkpoints are written (the system's for temporary files)
  --exchanged N,...   of tensors whose exchange is measured: one in flight, 4 from 1 MiB on
                      (4K,1M,16M)
  --kills N           of servers, for each way of going on (5)

)";
}

std::string_view meaning() {
  return R"(what the numbers mean (GB is 1e9 bytes, CPU of user and kernel together)
  gb_per_s             bytes of one tensor / time of one operation, at one worker, with --inflight
                       tensors in flight; the mean of the workers
  parts_per_s          parts pushed and received, by all workers together
  p50_us, p99_us       from the call of one operation to its end, while others are in flight; p50 of
                       the median worker, p99 of the worst; _least, _most: of the repeats
  worker_cpu_s_per_gb  CPU of the workers / bytes of tensors, counted once at each worker
  server_cpu_s_per_gb  CPU of the servers / the same bytes
  limit, gb_per_s_limit, ratio
                       by shared memory its copies and sums, by as many processes, none waiting
                       (shm_copies); else libzmq without Stretto and sums, in as many processes,
                       each message of a part's size answered by as many bytes, 1, 4 and 16 under
                       way at each endpoint: the best; among workers none. With --lab_mbit what the
                       links let pass (links): n bytes each way, or 2 (P - 1) / P n among P
                       workers, at what one TCP connection carries. Measured in the same run
  wire_ratio           encoded bytes / bytes of f32
  encode_ratio, decode_add_ratio
                       the time that memcpy takes to read and write as many bytes / this time
  us_per_call          of queue, CPU time: a pick, with taking it, its credit and the next push;
                       or one call that steers the frame of one tag, while others wait
  cpu_us_per_call      of rpc, both processes together
  transport            of rpc, also what is measured beside Stretto: futex, a futex and bytes in
                       shared memory; raw_zmq, libzmq; raw_tcp; grpc, gRPC's unary call, where
                       this was built with it. Two processes each
  ratio_to_raw         of rpc: p50_us over that of the futex (shm) or of libzmq (others); with
                       several in flight, calls_per_s of those over ours
  ratio_to_grpc        of rpc: calls_per_s over gRPC's
  cpu_share            CPU seconds / seconds
  urgent_p50_ms ...    from handing the urgent message over until its answer is there; p50 and p95
                       are medians of the rounds, max is of all
  urgent_first_ms      the first one beside the background, which nobody could expect
  unloaded_p50_ms      the same, without a background
  background_gb_per_s  background that the peers have; unloaded_gb_per_s without urgent messages
  background_cpu_s_per_gb, unloaded_cpu_s_per_gb
                       of preempt, CPU time of what sends, with urgent messages and without
  raw_tcp_gb_per_s     what one TCP connection with cubic carries over the same link
  goodput_ratio, rate_used
                       background and urgent bytes / raw TCP, and / the nominal rate
)";
}

std::string_view more_meaning() {
  return R"(  seconds              of recover: from a checkpoint's begin until it is complete; what
                       a job that goes on from one takes longer than one that begins anew, without
                       a pull of all; p50 of one exchange; p50 from kill -9 of a server until every
                       worker has ended a step begun since. _least, _most: of the runs
  stall_ms             by how much the longest step while a checkpoint is written is longer than
                       the median step without, p99 of the checkpoints (stall_p50_ms: the median;
                       quiet_: the same of the steps without one); after kill -9: p99 of seconds
  throughput_ratio     steps a second with a checkpoint over those without; exchanges with a server
                       that stands by, encrypted or with checksums over those without
  disk_ratio           rate of a checkpoint over plain writes with fsync, of a restore over plain
                       reads; as many files of as many bytes. ratio_least, ratio_most: of the runs

Sums are checked before and after measuring; a wrong one ends the benchmark with an error.
Exit status: 0; 1 if a measurement failed; 2 if the command line cannot be used.
)";
}

}  // namespace

std::string help_text() {
  return fmt::format("{}{}{}{}", benchmarks_and_flags(), other_flags(), meaning(), more_meaning());
}

}  // namespace stretto::bench
