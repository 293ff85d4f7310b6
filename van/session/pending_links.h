// SPDX-License-Identifier: Apache-2.0
// PendingLinks: links that may not stay: those that are not admitted, whose number is limited, and
// refused ones, which end once their fault is sent.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "van/transport/transport.h"

namespace stretto {

/// Thread: loop. Pure: it gets times as arguments.
class PendingLinks {
 public:
  /// The limit is reached: the newest link is closed; members are not affected.
  bool full() const { return unadmitted_.size() >= kMost; }
  void add(LinkId link, Time now);
  /// Its hello arrived: it may wait for admission without a timeout.
  void greeted(LinkId link) { silent_.erase(link); }
  void admitted(LinkId link);
  void refused(LinkId link, Time now) {
    silent_.erase(link);  // The fault has its own timeout.
    refused_[link] = now;
  }
  void remove(LinkId link);

  /// Links without a hello in time, and refused ones with a sent or overdue fault. Call
  /// periodically.
  std::vector<LinkId> expired(Time now);
  /// When the next check is due; Time::max(): none.
  Time next_look() const;

 private:
  static constexpr std::size_t kMost = 1024;

  std::set<LinkId> unadmitted_;
  std::map<LinkId, Time> silent_;   // Links without a hello, since.
  std::map<LinkId, Time> refused_;  // Since.
  Time next_look_;
};

}  // namespace stretto
