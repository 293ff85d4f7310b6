// SPDX-License-Identifier: Apache-2.0
// Endpoints without threads: their nodes, stepped by hand in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rpc/node.h"
#include "tests/sim/sim_network.h"

namespace stretto::rpc::fake {

/// Runs each request immediately while the node exists; handles may outlive the node.
class DirectExecutor final : public NodeExecutor {
 public:
  explicit DirectExecutor(EndpointNode& node) : node_(&node) {}
  void post(std::function<void(EndpointNode&)> request) override { run(std::move(request)); }
  void run(std::function<void(EndpointNode&)> request) override {
    if (node_ != nullptr) request(*node_);
  }
  bool is_here() override { return false; }
  void close() { node_ = nullptr; }

 private:
  EndpointNode* node_;
};

inline EndpointNode::Settings settings() {
  return {.token = "secret", .max_peers = 4, .max_calls = 4096, .max_held_bytes = 1 << 30};
}

/// Thread: loop.
class Party {
 public:
  Party(std::unique_ptr<Transport> transport, const Clock& clock,
        const EndpointNode::Settings& limits = settings())
      : node(limits, methods, std::move(transport), clock) {
    node.set_executor(executor_);
  }
  ~Party() { executor_->close(); }
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  void on(std::string_view method, Handler handler) {
    EXPECT_TRUE(methods.add(method, std::move(handler)).ok());
  }
  std::shared_ptr<detail::CallState> begin(Peer peer, std::string_view method, Message message,
                                           const CallOptions& options = {}) {
    auto state =
        std::make_shared<detail::CallState>(method, std::move(message), options, executor_);
    node.caller().start(state, peer.id());
    return state;
  }
  Call call(Peer peer, std::string_view method, Message message, const CallOptions& options = {}) {
    return Call(begin(peer, method, std::move(message), options));
  }

  Methods methods;
  EndpointNode node;

 private:
  const std::shared_ptr<DirectExecutor> executor_ = std::make_shared<DirectExecutor>(node);
};

/// Two parties on a simulated network; the client has connected to the server. Thread: loop.
class Pair {
 public:
  static constexpr Duration kLongestStep = 50ms;

  explicit Pair(std::uint64_t seed = 1, const sim::NetworkOptions& options = {},
                const EndpointNode::Settings& server_limits = settings())
      : network(clock, seed, options),
        server(network.endpoint("server"), clock, server_limits),
        client(network.endpoint("client"), clock) {
    const Result<std::string> address = server.node.listen("server:0");
    EXPECT_TRUE(address.ok());
    client.node.connect(*address, 10s, [this](const Result<Peer>& outcome) {
      EXPECT_TRUE(outcome.ok()) << outcome.status().text();
      peer = *outcome;
    });
    EXPECT_TRUE(until([this] { return peer != Peer(); }));
  }

  /// Steps both; advances to the next event, at most by kLongestStep.
  void step() {
    server.node.step(Duration::zero());
    client.node.step(Duration::zero());
    const Time due = std::min({network.next_arrival("server"), network.next_arrival("client"),
                               server.node.next_due(), client.node.next_due()});
    clock.advance_to(std::min(due, clock.now() + kLongestStep));
  }
  /// False if `condition` does not become true.
  bool until(const std::function<bool()>& condition) {
    for (int i = 0; i < 2'000'000; ++i) {
      if (condition()) return true;
      step();
    }
    return false;
  }
  bool until_done(const Call& call) {
    return until([&call] { return call.done(); });
  }
  /// No message is queued or in flight.
  bool idle() {
    return server.node.van().queue().idle() && client.node.van().queue().idle() &&
           server.node.caller().in_flight() == 0 && client.node.caller().in_flight() == 0;
  }

  sim::VirtualClock clock;
  sim::SimNetwork network;
  Party server;
  Party client;
  Peer peer;  ///< The server's handle at the client.
};

/// Bytes that depend on the size and the seed.
inline std::vector<std::byte> bytes(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i * 31 + seed + i / 251);
  return made;
}

inline bool same(const Message& message, std::span<const std::byte> wanted) {
  return std::equal(message.bytes().begin(), message.bytes().end(), wanted.begin(), wanted.end());
}

}  // namespace stretto::rpc::fake
