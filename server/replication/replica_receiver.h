// SPDX-License-Identifier: Apache-2.0
// ReplicaReceiver: the standby's side of replication: receives the primary's parts, and applies the
// same updates in the same order, so that both have the same bits. It serves no worker before its
// promotion.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <variant>

#include "server/aggregation/rounds_snapshot.h"
#include "server/sessions/worker_links.h"
#include "server/storage/owned_slots.h"
#include "van/control/control.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class ReplicaReceiver {
 public:
  /// All arguments must outlive this.
  ReplicaReceiver(Van& van, const WorkerLinks& workers, OwnedSlots& slots)
      : van_(van), workers_(workers), slots_(slots) {}

  /// `link` leads to the primary; `elastic`: contributors change, as the primary reports.
  void begin(LinkId link, bool elastic) {
    link_ = link;
    elastic_ = elastic;
  }
  /// The primary's link has ended.
  void lose();
  LinkId link() const { return link_; }
  /// Ends replication: later messages are ignored, and incomplete ones dropped. Returns the parts
  /// with incomplete images.
  std::set<wire::Key> end();

  /// Messages of the primary. An error if one does not match this replica's state.
  Status on_control(const control::Message& message);
  Status on_data(const wire::Header& header, const Buffer& payload);

 private:
  struct Coming {
    OwnedSlots::Place place;
    std::variant<control::PartImage, control::LogEntry> what;
    std::uint64_t total = 0;
    std::uint64_t had = 0;
    Buffer bytes = {};
  };

  template <typename What>
  Status expect(const wire::Key& key, const What& what);
  Status apply(Coming coming) const;
  Status apply(const OwnedSlots::Place& place, const control::PartImage& image,
               const Buffer& bytes) const;
  Status apply(const OwnedSlots::Place& place, const control::LogEntry& entry, Buffer bytes) const;
  Result<Sources> recount(Part& part, const control::LogEntry& entry) const;
  bool take(Part& part, const RoundsSnapshot& rounds) const;

  Van& van_;
  const WorkerLinks& workers_;
  OwnedSlots& slots_;
  LinkId link_ = 0;
  bool elastic_ = false;
  std::map<wire::Key, Coming> coming_;
};

}  // namespace stretto
