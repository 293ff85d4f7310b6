// SPDX-License-Identifier: Apache-2.0
// libzmq over loopback, with a context at each end as in two processes: each has an I/O thread and
// a thread that sends or receives.
#include <fmt/core.h>

#include <thread>
#include <vector>

#include "common/clock.h"
#include "tools/bench/limits/limits.h"
#include "tools/bench/support/zmq_handles.h"

namespace stretto::bench {
namespace {

constexpr std::size_t kFrameBytes = 256 << 10;  // A part.
constexpr int kQueueFrames = 64;

/// Two sockets connected over TCP. Messages are sent from `memory`, which outlives the contexts.
struct ZmqPair {
  explicit ZmqPair(std::size_t bytes) : memory(bytes) {}

  Status connect(int near_type, int far_type) {
    near = open_socket(near_context, near_type, kQueueFrames);
    far = open_socket(far_context, far_type, kQueueFrames);
    const std::string endpoint = bind_to_loopback(far);
    if (endpoint.empty()) return zmq_refused("listen");
    if (zmq_connect(near.get(), endpoint.c_str()) != 0) return zmq_refused("connect");
    return {};
  }

  const std::vector<std::byte> memory;
  ZmqContext near_context = open_context();
  ZmqContext far_context = open_context();
  ZmqSocket near;
  ZmqSocket far;
};

// One direction, in GB/s, without a copy of ours. An empty message is the last.
Result<double> zmq_stream(Duration time) {
  ZmqPair pair(kFrameBytes);
  if (Status status = pair.connect(ZMQ_PUSH, ZMQ_PULL); !status.ok()) return status;
  const Time start = now();
  double received = 0;
  Duration elapsed{};
  std::jthread reader([&] {
    ZmqMessage message;
    while (message.receive(pair.far, 0) && message.size() > 0) {
      received += static_cast<double>(message.size());
    }
    elapsed = now() - start;
  });
  bool fine = true;
  while (fine && now() - start < time) fine = send_in_place(pair.near, pair.memory, 0);
  fine = zmq_send(pair.near.get(), nullptr, 0, 0) == 0 && fine;
  reader.join();
  if (!fine) return zmq_refused("send");
  return received / seconds(elapsed) / 1e9;
}

// The median round trip in microseconds. An empty message is the last.
Result<double> zmq_ping(Duration time) {
  ZmqPair pair(kPingBytes);
  if (Status status = pair.connect(ZMQ_PAIR, ZMQ_PAIR); !status.ok()) return status;
  const std::jthread echo([&pair] {
    ZmqMessage message;
    while (message.receive(pair.far, 0) && message.size() > 0 && message.send(pair.far, 0)) {
    }
  });
  ZmqMessage message;
  const double median = median_round_trip_us(time, [&] {
    return zmq_send(pair.near.get(), pair.memory.data(), kPingBytes, 0) >= 0 &&
           message.receive(pair.near, 0);
  });
  zmq_send(pair.near.get(), nullptr, 0, 0);
  if (median < 0) return zmq_refused("exchange");
  return median;
}

}  // namespace

std::vector<Limit> zmq_limits() {
  return {{"zmq_tcp", kFrameBytes, false, zmq_stream}, {"zmq_tcp", kPingBytes, true, zmq_ping}};
}

}  // namespace stretto::bench
