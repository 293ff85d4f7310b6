// SPDX-License-Identifier: Apache-2.0
// ElasticServer: a server of an elastic job: production's slots with simulated frames. Slots move
// between servers, updates are released with a delay, and the contributors change with each view.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/view.h"
#include "server/storage/slot.h"
#include "tests/sim/elastic/ledger.h"
#include "tests/sim/elastic/mail.h"

namespace stretto::sim {

using SharedView = std::shared_ptr<const View>;

/// A worker's contribution to a part's round.
struct ElasticPush {
  PushId id;
  std::uint32_t epoch = 0;
};
/// A request for a part's value, of round `least_round` of the worker or later.
struct ElasticPull {
  NodeId worker = 0;
  wire::Key key;
  std::uint64_t least_round = 0;
  std::uint32_t epoch = 0;
};
/// The response to either.
struct ElasticAnswer {
  wire::Key key;
  std::uint64_t version = 0;
  Ledger::Numbers numbers;
};

/// Thread: the simulation's.
class ElasticServer {
 public:
  using Answer = std::function<void(NodeId, const ElasticAnswer&)>;

  ElasticServer(Mail& mail, Ledger& ledger, Random& random, Answer answer)
      : mail_(mail), ledger_(ledger), random_(random), answer_(std::move(answer)) {}

  /// Sets the node id of this member.
  void enter(NodeId node) { node_ = node; }
  /// Makes a slot with a part for each key. The TensorSpec must outlive it.
  void make_slot(std::uint32_t number, const TensorSpec& spec, const std::vector<wire::Key>& keys,
                 const View& view);
  void on_view(const SharedView& view);
  void on_push(const ElasticPush& push);
  void on_pull(const ElasticPull& pull);

  /// A slot in transit, and the last view that its owner knew.
  struct Parcel {
    std::shared_ptr<Slot> slot;
    std::uint32_t epoch = 0;
  };
  /// Releases a slot that moves elsewhere; null if the slot is not at this server.
  Parcel give(std::uint32_t number);
  /// Owned as soon as a view says so; then applies the views published during the move.
  void take(const Parcel& parcel);
  bool has(std::uint32_t number) const { return slots_.contains(number); }

 private:
  struct Owned {
    std::shared_ptr<Slot> slot;
    std::uint32_t since = 0;
  };

  bool knows(std::uint32_t epoch) const { return view_ != nullptr && epoch <= view_->epoch; }
  Owned* owned_of(const wire::Key& key);
  void count(Owned& owned, const ElasticPush& push);
  void release_later(Owned& owned);
  void release(Slot& slot, Slot::Position through);
  void tell_ready(Slot& slot);
  void retry();
  void regroup(Slot& slot, const View& view);

  Mail& mail_;
  Ledger& ledger_;
  Random& random_;
  Answer answer_;
  NodeId node_ = 0;
  SharedView view_;
  std::vector<SharedView> views_;  // All views so far.
  std::map<std::uint32_t, Owned> slots_;
  std::map<std::uint32_t, Parcel> coming_;  // Until a view assigns them to this server.
  std::vector<ElasticPush> early_;          // Pushes of an epoch or round that is not known yet,
  std::vector<ElasticPull> early_pulls_;    // and pulls of such an epoch.
};

}  // namespace stretto::sim
