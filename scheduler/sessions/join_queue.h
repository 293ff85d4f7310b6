// SPDX-License-Identifier: Apache-2.0
// JoinQueue: workers that ask to join a full elastic job. A replacement may come before the failure
// of the worker it replaces is known; so it waits as long as detection may take. Pure.
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

  /// `patience`: how long workers wait.
  explicit JoinQueue(Duration patience) : patience_(patience) {}

  /// A queued worker keeps its deadline. False once that has passed: the worker is removed.
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
  /// In the order of arrival.
  const std::vector<Guest>& guests() const { return guests_; }

 private:
  const Duration patience_;
  std::vector<Guest> guests_;
};

}  // namespace stretto
