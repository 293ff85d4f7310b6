// SPDX-License-Identifier: Apache-2.0
// PendingLinks: links that may not stay as they are: those that have not been admitted, of which
// there may be so many and no more, and those that were refused and end when their fault has left.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "van/transport/transport.h"

namespace stretto {

/// Thread: loop. Pure: it is told times.
class PendingLinks {
 public:
  /// One more is a flood: the newest goes, members are not touched.
  bool full() const { return unadmitted_.size() >= kMost; }
  void add(LinkId link, Time now);
  /// It has said hello, and may wait for its admission as long as that takes.
  void greeted(LinkId link) { silent_.erase(link); }
  void admitted(LinkId link);
  void refused(LinkId link, Time now) {
    silent_.erase(link);  // Its fault has as long as any.
    refused_[link] = now;
  }
  void remove(LinkId link);

  /// LinkLives that never said hello, and refused ones whose fault has left or would not leave.
  /// Looked now and then.
  std::vector<LinkId> expired(Time now);
  /// When it should be looked; Time::max() while there are none.
  Time next_look() const;

 private:
  static constexpr std::size_t kMost = 1024;

  std::set<LinkId> unadmitted_;
  std::map<LinkId, Time> silent_;   // Since when; of those, who have not said hello.
  std::map<LinkId, Time> refused_;  // Since when.
  Time next_look_;
};

}  // namespace stretto
