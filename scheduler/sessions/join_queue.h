// SPDX-License-Identifier: Apache-2.0
// JoinQueue: workers that came to an elastic job while it had as many as it may have. Who takes a
// lost one's place may come before that one's loss is known; so they wait as long as it can take to
// find that out. Pure.
#pragma once

#include <algorithm>
#include <vector>

#include "common/clock.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class JoinQueue {
 public:
  struct Guest {
    LinkId link = 0;
    control::Hello hello;
    Time deadline;
  };

  /// They wait for so long.
  explicit JoinQueue(Duration patience) : patience_(patience) {}

  /// Who waits already goes on waiting. False once it has waited long enough: it is here no more.
  bool wait(LinkId link, const control::Hello& hello, Time now) {
    const auto known = std::ranges::find(guests_, link, &Guest::link);
    if (known == guests_.end()) {
      guests_.push_back({.link = link, .hello = hello, .deadline = after(now, patience_)});
      return true;
    }
    if (now < known->deadline) return true;
    guests_.erase(known);
    return false;
  }
  void remove(LinkId link) {
    std::erase_if(guests_, [link](const Guest& guest) { return guest.link == link; });
  }
  /// In the order in which they came.
  const std::vector<Guest>& guests() const { return guests_; }

 private:
  const Duration patience_;
  std::vector<Guest> guests_;
};

}  // namespace stretto
