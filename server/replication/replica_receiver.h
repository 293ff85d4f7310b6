// SPDX-License-Identifier: Apache-2.0
// ReplicaReceiver: what a server does that stands by for another: it takes what that one's parts
// are, and applies the same updates in the same order, so that it has the same bits. It serves
// nobody, until it has the other's place.
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
  /// All outlive this.
  ReplicaReceiver(Van& van, const WorkerLinks& workers, OwnedSlots& slots)
      : van_(van), workers_(workers), slots_(slots) {}

  /// The server of this link is the one that is stood by for; `elastic`: who makes rounds changes,
  /// as it says.
  void begin(LinkId link, bool elastic) {
    link_ = link;
    elastic_ = elastic;
  }
  /// It has ended.
  void lose();
  LinkId link() const { return link_; }
  /// From now on nothing of it counts. What has not come whole is forgotten.
  /// Parts whose images are among that.
  std::set<wire::Key> end();

  /// What the other says. An error if it is not what one says who is as far as this one.
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
