// SPDX-License-Identifier: Apache-2.0
// Calls between endpoints on the simulated network, with broken links and endpoints that die or
// become silent: each call ends once, with its own answer or an error, and is handled at most once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "common/log.h"
#include "tests/rpc/node_fixture.h"
#include "tests/sim/replay.h"
#include "tests/sim/seeds.h"
#include "tests/sim/sim_cluster.h"

namespace stretto::sim {
namespace {

constexpr Duration kCallTimeout = 4s;
constexpr Duration kEndsWithin = 10s;  // A timeout, and the detection of a silent link.

class CallsJob {
 public:
  explicit CallsJob(std::uint64_t seed)
      : random_(seed * 0x9E3779B97F4A7C15ULL + 5), network_(clock_, seed, network_options()) {
    server_ = std::make_unique<rpc::fake::Party>(network_.endpoint("server"), clock_);
    server_->on("echo", [this](rpc::Request request, rpc::Reply reply) {
      handle(std::move(request), std::move(reply));
    });
    const Result<std::string> address = server_->node.listen("server:0");
    EXPECT_TRUE(address.ok());
    const std::uint64_t clients = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < clients; ++i) {
      Client& client = clients_.emplace_back();
      client.name = fmt::format("client {}", i);
      client.party = std::make_unique<rpc::fake::Party>(network_.endpoint(client.name), clock_);
      client.left = random_.below(20);
    }
    for (Client& client : clients_) {  // Clients do not move from here on.
      client.party->node.connect(*address, 3s, [this, &client](const Result<rpc::Peer>& peer) {
        if (peer.ok()) client.peer = *peer;
        if (!peer.ok() && !struck_) report("no error without a cause", peer.status().text());
        client.connected = peer.ok();
      });
    }
    if (random_.chance(0.5)) strikes_at_ = clock_.now() + random_.between(1ms, 60ms);
  }

  std::optional<Violation> run() {
    const Time end = clock_.now() + kEndsWithin + 60s;
    for (int i = 0; i < 500'000 && clock_.now() < end && !violation_; ++i) {
      if (i > 1000 && all_done()) break;
      turn();
    }
    for (const auto& [number, call] : calls_) {
      if (call.by == dead_) continue;
      if (call.ends == 0) report("no hang", fmt::format("call {} has not ended", number));
      if (call.ok && call.handled != 1) {
        report("calls are handled once",
               fmt::format("call {} was handled {} times", number, call.handled));
      }
    }
    return violation_;
  }
  std::size_t answered() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(calls_, [](const auto& item) { return item.second.ok; }));
  }

 private:
  bool all_done() const {
    return std::ranges::all_of(clients_, &Client::done) &&
           std::ranges::all_of(calls_, [this](const auto& item) {
             return item.second.ends > 0 || item.second.by == dead_;
           });
  }
  struct Client {
    std::string name;
    std::unique_ptr<rpc::fake::Party> party;
    rpc::Peer peer;
    bool connected = false;
    std::uint64_t left = 0;  // Calls still to be made.
    bool done() const { return left == 0 || !connected; }
  };
  struct Made {
    std::string by;
    int ends = 0;
    int handled = 0;
    bool ok = false;
    Time began;
  };

  NetworkOptions network_options() {
    return {.least_latency = 1us,
            .most_latency = random_.between(2us, 5ms),
            .bytes_per_second = random_.chance(0.3) ? 1e6 : 1e9,
            .local = random_.chance(0.5),
            .lend = random_.chance(0.5)};
  }
  void report(const std::string& invariant, const std::string& text) {
    if (!violation_) violation_ = Violation{invariant, text};
  }

  void handle(rpc::Request request, rpc::Reply reply) {
    const std::uint64_t number = std::stoull(std::string(request.message.text()));
    if (++calls_[number].handled > 1) {
      report("calls are handled once", fmt::format("call {} came again", number));
    }
    if (number % 7 == 0) return reply.fail({Code::kMismatch, "the seventh"});
    if (number % 3 == 0) {
      later_.emplace_back(std::move(reply), request.message);
    } else {
      reply.send(request.message);
    }
  }

  void call(Client& client) {
    --client.left;
    const std::uint64_t number = ++last_call_;
    const std::string text = fmt::format("{} {}", number, std::string(random_.below(20'000), 'x'));
    Made& made = calls_[number];
    made.by = client.name;
    made.began = clock_.now();
    const rpc::Call call = client.party->call(
        client.peer, "echo", text,
        {.priority = static_cast<int>(random_.below(5)), .timeout = kCallTimeout});
    call.on_done([this, number, text](const Result<rpc::Message>& outcome) {
      ended(number, text, outcome);
    });
    if (random_.chance(0.1)) call.cancel();
    if (random_.chance(0.1)) call.set_priority(9);
  }

  void ended(std::uint64_t number, const std::string& text, const Result<rpc::Message>& outcome) {
    Made& made = calls_[number];
    if (++made.ends > 1) report("calls end once", fmt::format("call {} ended twice", number));
    made.ok = outcome.ok();
    if (outcome.ok() && outcome->text() != text) {
      report("answers are those of their calls", fmt::format("call {} got another's", number));
    }
    if (clock_.now() - made.began > kEndsWithin) {
      report("no hang",
             fmt::format("call {} took {} s", number, seconds(clock_.now() - made.began)));
    }
    const Code code = outcome.ok() ? Code::kOk : outcome.status().code();
    const bool expected = code == Code::kOk || code == Code::kCancelled ||
                          (code == Code::kMismatch && number % 7 == 0);
    if (!expected && !struck_) report("no error without a cause", outcome.status().text());
  }

  void strike() {
    strikes_at_ = Time::max();
    struck_ = true;
    const std::string& client = clients_[random_.below(clients_.size())].name;
    switch (random_.below(4)) {
      case 0:
        dead_ = random_.chance(0.5) ? "server" : client;
        return network_.kill(dead_);
      case 1:
        return network_.silence(client);
      case 2:
        network_.cut("server", client);
        return;
      default:
        return network_.lose_next("server", client);
    }
  }

  void turn() {
    if (clock_.now() >= strikes_at_) strike();
    Time due = strikes_at_;
    if (dead_ != "server") {
      server_->node.step(Duration::zero());
      due = std::min({due, network_.next_arrival("server"), server_->node.next_due()});
    }
    for (Client& client : clients_) {
      if (client.name == dead_) continue;
      client.party->node.step(Duration::zero());
      due = std::min({due, network_.next_arrival(client.name), client.party->node.next_due()});
      if (client.connected && client.left > 0 && random_.chance(0.3)) call(client);
    }
    if (!later_.empty() && random_.chance(0.2)) {
      auto [reply, message] = std::move(later_.back());
      later_.pop_back();
      reply.send(message);
    }
    clock_.advance_to(std::clamp(due, clock_.now() + 1us, clock_.now() + 20ms));
  }

  Random random_;
  VirtualClock clock_;
  SimNetwork network_;
  std::unique_ptr<rpc::fake::Party> server_;
  std::vector<Client> clients_;
  std::map<std::uint64_t, Made> calls_;
  std::vector<std::pair<rpc::Reply, rpc::Message>> later_;
  std::uint64_t last_call_ = 0;
  Time strikes_at_ = Time::max();
  bool struck_ = false;
  std::string dead_;
  std::optional<Violation> violation_;
};

TEST(CallsSimulation, EveryCallEndsOnceForEverySeed) {
  set_log_level(Level::kSilent);
  Seeds seeds = seeds_from_environment();
  seeds.count = std::max<std::uint64_t>(1, seeds.count / 16);  // A part of them.
  Replay replay("CallsSimulation.Every*");
  std::size_t answered = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    CallsJob job(seed);
    const auto violation = job.run();
    answered += job.answered();
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation);
  }
  EXPECT_TRUE(seeds.count < 10 || answered > seeds.count) << "calls get through";
}

}  // namespace
}  // namespace stretto::sim
