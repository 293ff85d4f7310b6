// SPDX-License-Identifier: Apache-2.0
// PendingPeers: who has connected to us and not yet said hello. They are few and wait briefly, so
// that nobody can use up our descriptors by being silent.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "common/logged_count.h"
#include "van/shm/memfd.h"
#include "van/shm/options.h"

namespace stretto::shm {

/// Thread: loop.
class PendingPeers {
 public:
  explicit PendingPeers(const ShmOptions& options) : options_(options) {}

  bool empty() const { return waiting_.empty(); }
  /// The one that must go so that there is room for this one; 0 if there is room.
  LinkId add(LinkId id, Descriptor socket);
  /// Its socket, if it is one of them.
  std::optional<Descriptor> take(LinkId id);
  /// Those who have been silent for too long.
  std::vector<LinkId> expired() const;
  /// Counts them, and logs the first, second, fourth and so on.
  void note_refused(const Status& why);

 private:
  struct Stranger {
    Descriptor socket;
    Time since;
  };
  const ShmOptions& options_;
  std::map<LinkId, Stranger> waiting_;  // Ids grow: the first is the oldest.
  LoggedCount refused_;
};

}  // namespace stretto::shm
