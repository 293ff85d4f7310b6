// SPDX-License-Identifier: Apache-2.0
// ElasticWorker: a worker of an elastic job. While it is a member it makes rounds. It retains each
// push until it is answered, and retransmits it when a new view may have changed the owner.
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
  struct Way {  ///< The worker's actions on its environment.
    std::function<void(const ElasticPush&)> push;
    std::function<void(const ElasticPull&)> pull;
    std::function<void(NodeId)> leave;
  };

  ElasticWorker(Ledger& ledger, const std::vector<wire::Key>& keys, std::uint64_t rounds, Way way)
      : ledger_(ledger), keys_(keys), rounds_(rounds), way_(std::move(way)) {}

  /// Admits the worker from `first_round` on; a joining worker reads all values before that round.
  void enter(NodeId node, std::uint64_t first_round, const SharedView& view);
  void on_view(const SharedView& view);
  void on_answer(const ElasticAnswer& answer);
  /// Pauses before the next round, until go_on(). Returns the last round begun.
  std::uint64_t hold();
  void go_on();
  /// The worker is lost.
  void crash() { state_ = State::kOut; }

  State state() const { return state_; }
  bool over() const { return state_ == State::kOut || state_ == State::kDone; }
  /// Describes what the worker waits for.
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
  std::uint64_t rounds_;  // The worker ends after this many.
  Way way_;
  State state_ = State::kOut;
  NodeId node_ = 0;
  SharedView view_;
  std::uint64_t round_ = 0;   // The last one begun; its first one while it pulls.
  std::set<wire::Key> open_;  // Parts whose answers are outstanding.
  bool held_ = false;
};

}  // namespace stretto::sim
