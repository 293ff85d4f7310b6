// SPDX-License-Identifier: Apache-2.0
// Attempts: a node's to reach its scheduler, none of which was answered. Who begins a job tries on,
// since the scheduler may not be up yet; of who was in it one that is not there any more is gone.
#pragma once

#include <algorithm>
#include <string>

#include "common/clock.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: loop.
class Attempts {
 public:
  /// One was in vain.
  void failed(const Status& why, Time now) {
    last_ = why;
    refused_since_ = why.code() == Code::kRefused ? std::min(refused_since_, now) : Time::max();
    const bool strange = why.code() == Code::kMalformed;
    strange_since_ = strange ? std::min(strange_since_, now) : Time::max();
    strange_until_ = now;
    strangers_ = strange ? strangers_ + 1 : 0;
  }
  /// One has been answered.
  void succeeded() { *this = Attempts(); }
  /// In words, why the last one was.
  std::string cause() const { return last_.ok() ? "no answer" : std::string(last_.cause()); }
  /// The far end's host has said so for a while, and nothing else.
  bool nobody_listens(Time now) const {
    return refused_since_ != Time::max() && now - refused_since_ >= kAbsence;
  }
  /// Whoever listens there speaks in another way, or by another key: at each attempt, of several,
  /// for a while.
  bool meets_a_stranger() const {
    return strangers_ >= kStrangers && strange_until_ - strange_since_ >= kStrange;
  }

 private:
  static constexpr Duration kAbsence = 1s;
  // One that is too busy ends connections, too.
  static constexpr Duration kStrange = 5s;
  static constexpr std::uint32_t kStrangers = 3;
  Status last_;
  Time refused_since_ = Time::max();
  Time strange_since_ = Time::max();
  Time strange_until_ = {};
  std::uint32_t strangers_ = 0;
};

}  // namespace stretto
