// SPDX-License-Identifier: Apache-2.0
// Forked processes that do not exec: servers that echo, and workers that keep a number of messages
// in flight. Each measures for its own time, after a warm-up.
#include "tools/bench/limits/raw_exchange.h"

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "tools/bench/support/child.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/report_pipe.h"
#include "tools/bench/support/zmq_handles.h"

namespace stretto::bench {
namespace {

constexpr double kRawWarmUpSeconds = 0.2;
constexpr Duration kPatience = 60s;   // In addition to measuring.
constexpr int kRawQueueFrames = 256;  // As Stretto's transport.
// The kernel's buffer for one connection. By default it grows to megabytes, which leave the caches
// before they are read: over loopback that makes each byte a quarter dearer.
constexpr int kSendBufferBytes = 256 * 1024;

int failed(const char* what) {
  std::fprintf(stderr, "raw exchange: %s: %s\n", what, zmq_strerror(zmq_errno()));
  return 1;
}

ZmqSocket open_raw_socket(const ZmqContext& context, int type) {
  ZmqSocket socket = open_socket(context, type, kRawQueueFrames);
  zmq_setsockopt(socket.get(), ZMQ_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  return socket;
}

// Messages are allocated and freed constantly: the process keeps their memory.
void keep_memory() {
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

// ---- a server's endpoint

// Returns each message, or as many bytes as the answer has. Ends when it is killed.
int echo(const RawShape& shape, int report_descriptor) {
  const ZmqContext context = open_context();
  const ZmqSocket socket = open_raw_socket(context, ZMQ_ROUTER);
  const int for_ever = -1;
  zmq_setsockopt(socket.get(), ZMQ_RCVTIMEO, &for_ever, sizeof for_ever);
  const std::string endpoint = bind_to_loopback(socket);
  if (endpoint.empty()) return failed("cannot listen");
  unsigned port = 0;
  std::sscanf(endpoint.c_str() + endpoint.rfind(':'), ":%u", &port);
  if (!write_report(report_descriptor, {.port = port}).ok()) return failed("cannot report");
  const std::vector<std::byte> answer(shape.back_bytes);
  ZmqMessage id;
  ZmqMessage payload;
  while (id.receive(socket, 0) && payload.receive(socket, 0)) {
    bool sent = id.send(socket, ZMQ_SNDMORE);
    sent = sent && (payload.size() == shape.back_bytes ? payload.send(socket, 0)
                                                       : send_in_place(socket, answer, 0));
    if (!sent) return failed("cannot answer");
  }
  return failed("cannot receive");
}

int serve(const RawShape& shape, int report_descriptor) {
  keep_memory();
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 1; i < shape.shards; ++i) {
    threads.emplace_back([&] { echo(shape, report_descriptor); });
  }
  return echo(shape, report_descriptor);
}

// ---- a worker

class RawWorker {
 public:
  RawWorker(const RawShape& shape, std::uint32_t rank)
      : shape_(shape),
        rank_(rank),
        memory_(std::max(shape.memory_bytes, shape.out_bytes)),
        context_(open_context()) {}

  /// Connects to the servers' endpoints.
  bool connect(std::span<const std::uint32_t> ports) {
    for (const std::uint32_t port : ports) {
      sockets_.push_back(open_raw_socket(context_, ZMQ_DEALER));
      const std::string endpoint = fmt::format("tcp://127.0.0.1:{}", port);
      if (zmq_connect(sockets_.back().get(), endpoint.c_str()) != 0) return false;
      items_.push_back({sockets_.back().get(), 0, ZMQ_POLLIN, 0});
    }
    return true;
  }

  /// Fills the links evenly, each rank starting at another link.
  bool fill() {
    const std::size_t endpoints = sockets_.size();
    const std::uint64_t most = std::min(shape_.messages, shape_.messages_each * endpoints);
    for (std::uint64_t i = 0; i < most; ++i) {
      if (!send(sockets_[(rank_ + i) % endpoints])) return false;
    }
    return true;
  }

  /// Continues for `time`; returns the messages answered in that time.
  Result<std::uint64_t> exchange(double time) {
    std::uint64_t answered = 0;
    for (const Time start = now(); seconds(now() - start) < time;) {
      if (zmq_poll(items_.data(), static_cast<int>(items_.size()), 10'000) <= 0) {
        return Status(Code::kNetwork, "a raw server does not answer");
      }
      for (std::size_t i = 0; i < items_.size(); ++i) {
        if ((items_[i].revents & ZMQ_POLLIN) == 0) continue;
        while (answer_.receive(sockets_[i], ZMQ_DONTWAIT)) {
          ++answered;
          if (!send(sockets_[i])) return Status(Code::kNetwork, "a raw server takes nothing");
        }
      }
    }
    return answered;
  }

 private:
  bool send(const ZmqSocket& socket) {
    if (next_ + shape_.out_bytes > memory_.size()) next_ = 0;
    const std::span<const std::byte> bytes(&memory_[next_], shape_.out_bytes);
    next_ += shape_.out_bytes;
    return send_in_place(socket, bytes, 0);
  }

  const RawShape& shape_;
  std::uint32_t rank_;
  std::vector<std::byte> memory_;  // Before the context: libzmq may read it until then.
  std::size_t next_ = 0;
  ZmqContext context_;
  std::vector<ZmqSocket> sockets_;
  std::vector<zmq_pollitem_t> items_;
  ZmqMessage answer_;
};

int work(const RawShape& shape, std::uint32_t rank, std::span<const std::uint32_t> ports,
         std::span<const pid_t> servers, int report_descriptor) {
  keep_memory();
  RawWorker worker(shape, rank);
  if (!worker.connect(ports) || !worker.fill()) {
    return failed("cannot connect");
  }
  if (!worker.exchange(kRawWarmUpSeconds).ok()) return failed("warm-up");
  const double servers_before = rank == 0 ? cpu_seconds_of(servers) : 0;
  const double before = cpu_seconds();
  const Time start = now();
  const Result<std::uint64_t> answered = worker.exchange(shape.seconds);
  if (!answered.ok()) return failed("exchange");
  Report report{.rank = rank, .seconds = seconds(now() - start)};
  report.cpu_s = cpu_seconds() - before;
  report.servers_cpu_s = rank == 0 ? cpu_seconds_of(servers) - servers_before : 0;
  report.gigabytes =
      static_cast<double>(*answered) * static_cast<double>(shape.counted_bytes) / 1e9;
  // The other workers still measure: keeps messages in flight for them.
  if (!worker.exchange(kRawWarmUpSeconds).ok()) return failed("end");
  return write_report(report_descriptor, report).ok() ? 0 : 1;
}

}  // namespace

Result<Rates> measure_raw(const RawShape& shape) {
  Result<ReportPipe> ports_pipe = ReportPipe::open();
  if (!ports_pipe.ok()) return ports_pipe.status();
  Result<ReportPipe> results_pipe = ReportPipe::open();
  if (!results_pipe.ok()) return results_pipe.status();

  Children servers;
  for (std::uint32_t i = 0; i < shape.servers; ++i) {
    Status status = servers.start([&] { return serve(shape, ports_pipe->write_end()); });
    if (!status.ok()) return status;
  }
  const std::size_t endpoints = std::size_t{shape.servers} * shape.shards;
  Status status = ports_pipe->await(endpoints, servers.all(), now() + kPatience);
  if (!status.ok()) return std::move(status).with_operation("raw exchange");
  std::vector<std::uint32_t> ports;
  for (const Report& report : ports_pipe->reports()) ports.push_back(report.port);

  const std::vector<pid_t> server_ids = servers.process_ids();
  Children workers;
  for (std::uint32_t rank = 0; rank < shape.workers; ++rank) {
    status = workers.start(
        [&] { return work(shape, rank, ports, server_ids, results_pipe->write_end()); });
    if (!status.ok()) return status;
  }
  const Duration time = duration_of(2 * shape.seconds);
  status = results_pipe->await(shape.workers, workers.all(), now() + kPatience + time);
  workers.kill();
  servers.kill();
  if (!status.ok()) return std::move(status).with_operation("raw exchange");
  return rates_of(results_pipe->reports());
}

}  // namespace stretto::bench
