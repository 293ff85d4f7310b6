// SPDX-License-Identifier: Apache-2.0
// Attempts: a node's unanswered attempts to connect to its scheduler. Before the job starts the
// node retries, since the scheduler may not be up yet; a former member takes a refusal as its end.
#pragma once

#include <algorithm>
#include <string>

#include "common/clock.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: loop.
class Attempts {
 public:
  /// An attempt failed.
  void failed(const Status& why, Time now) {
    last_ = why;
    refused_since_ = why.code() == Code::kRefused ? std::min(refused_since_, now) : Time::max();
    const bool strange = why.code() == Code::kMalformed;
    strange_since_ = strange ? std::min(strange_since_, now) : Time::max();
    strange_until_ = now;
    strangers_ = strange ? strangers_ + 1 : 0;
  }
  /// An attempt was answered.
  void succeeded() { *this = Attempts(); }
  /// Reason of the last failure, as text.
  std::string cause() const { return last_.ok() ? "no answer" : std::string(last_.cause()); }
  /// The scheduler's host has refused all connections for a while.
  bool nobody_listens(Time now) const {
    return refused_since_ != Time::max() && now - refused_since_ >= kAbsence;
  }
  /// The listener uses another protocol or key: several attempts failed so, over a while.
  bool meets_a_stranger() const {
    return strangers_ >= kStrangers && strange_until_ - strange_since_ >= kStrange;
  }

 private:
  static constexpr Duration kAbsence = 1s;
  // A listener that is too busy closes connections as well.
  static constexpr Duration kStrange = 5s;
  static constexpr std::uint32_t kStrangers = 3;
  Status last_;
  Time refused_since_ = Time::max();
  Time strange_since_ = Time::max();
  Time strange_until_ = {};
  std::uint32_t strangers_ = 0;
};

}  // namespace stretto
