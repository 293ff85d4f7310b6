// SPDX-License-Identifier: Apache-2.0
// PendingPeers: accepted connections that have not sent a hello yet. Their number and time are
// limited, so that silent peers cannot use up our descriptors.
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
  /// Adds a connection. Returns the one to close to make room; 0 if there is room.
  LinkId add(LinkId id, Descriptor socket);
  /// Its socket, if the connection is pending.
  std::optional<Descriptor> take(LinkId id);
  /// Connections that have been silent for longer than the limit.
  std::vector<LinkId> expired() const;
  /// Counts refusals, and logs the first, second, fourth and so on.
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
