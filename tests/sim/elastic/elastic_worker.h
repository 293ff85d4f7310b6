// SPDX-License-Identifier: Apache-2.0
// ElasticWorker: a worker of an elastic job. It makes rounds as long as it is in, keeps what it has
// pushed until the answer is there, and sends it again when a new view may have changed who owns
// it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/elastic/elastic_server.h"

namespace stretto::sim {

/// Thread: the simulation's.
class ElasticWorker {
 public:
  enum class State { kOut, kPulling, kWorking, kDone };
  struct Way {  ///< What it can do to the world.
    std::function<void(const ElasticPush&)> push;
    std::function<void(const ElasticPull&)> pull;
    std::function<void(NodeId)> leave;
  };

  ElasticWorker(Ledger& ledger, const std::vector<wire::Key>& keys, std::uint64_t rounds, Way way)
      : ledger_(ledger), keys_(keys), rounds_(rounds), way_(std::move(way)) {}

  /// It is in, and its first round is this one; a newcomer reads all values before it.
  void enter(NodeId node, std::uint64_t first_round, const SharedView& view);
  void on_view(const SharedView& view);
  void on_answer(const ElasticAnswer& answer);
  /// Begins no further round until it may go on. Returns the one that it has begun.
  std::uint64_t hold();
  void go_on();
  /// It is no more.
  void crash() { state_ = State::kOut; }

  State state() const { return state_; }
  bool over() const { return state_ == State::kOut || state_ == State::kDone; }
  /// What it waits for, in words.
  std::string describe() const;
  NodeId node() const { return node_; }
  std::uint64_t round() const { return round_; }

 private:
  void begin_round();
  void push(const wire::Key& key);
  void resend();
  void finish();

  Ledger& ledger_;
  const std::vector<wire::Key>& keys_;
  std::uint64_t rounds_;  // After so many it is done.
  Way way_;
  State state_ = State::kOut;
  NodeId node_ = 0;
  SharedView view_;
  std::uint64_t round_ = 0;   // Begun last; while it pulls, its first.
  std::set<wire::Key> open_;  // Parts that it waits for.
  bool held_ = false;
};

}  // namespace stretto::sim
