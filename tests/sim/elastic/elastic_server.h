// SPDX-License-Identifier: Apache-2.0
// ElasticServer: a server of an elastic job: production's slots, with the frames that go in and out
// played. Slots move from one to another, updates are released late, and who contributes changes
// with each view.
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

/// A worker's share of a part's round.
struct ElasticPush {
  PushId id;
  std::uint32_t epoch = 0;
};
/// A question for a part's value, of that round of the worker's at least.
struct ElasticPull {
  NodeId worker = 0;
  wire::Key key;
  std::uint64_t least_round = 0;
  std::uint32_t epoch = 0;
};
/// The answer to either.
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

  /// It is this member.
  void enter(NodeId node) { node_ = node; }
  /// Makes a slot with one part for each key. The description outlives it.
  void make_slot(std::uint32_t number, const TensorSpec& spec, const std::vector<wire::Key>& keys,
                 const View& view);
  void on_view(const SharedView& view);
  void on_push(const ElasticPush& push);
  void on_pull(const ElasticPull& pull);

  /// A slot on its way, and the view that its owner knew last.
  struct Parcel {
    std::shared_ptr<Slot> slot;
    std::uint32_t epoch = 0;
  };
  /// Whoever moves a slot lets go of it; null if it is not here.
  Parcel give(std::uint32_t number);
  /// It is owned as soon as a view says so; what views said while it was on its way is made up for.
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
  std::vector<SharedView> views_;  // All of them.
  std::map<std::uint32_t, Owned> slots_;
  std::map<std::uint32_t, Parcel> coming_;  // Until a view says that they are ours.
  std::vector<ElasticPush> early_;          // Of an epoch or a round that is not here yet,
  std::vector<ElasticPull> early_pulls_;    // or of an epoch.
};

}  // namespace stretto::sim
