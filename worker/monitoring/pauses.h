// SPDX-License-Identifier: Apache-2.0
// Pauses: announced activities of the program other than training, and its end, for heartbeats.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "common/mutex.h"

namespace stretto {

/// Thread: any.
class Pauses {
 public:
  /// Returns a number for end().
  std::uint64_t begin(std::string what) {
    MutexLock lock(mutex_);
    pauses_.emplace(++last_, what.empty() ? "a pause" : std::move(what));
    return last_;
  }
  void end(std::uint64_t number) {
    MutexLock lock(mutex_);
    pauses_.erase(number);
  }
  /// The pause that began last; empty if there is none.
  std::string latest() {
    MutexLock lock(mutex_);
    return pauses_.empty() ? std::string() : pauses_.rbegin()->second;
  }
  /// The program ends.
  void note_ending() {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  bool ending() {
    MutexLock lock(mutex_);
    return ending_;
  }

 private:
  Mutex mutex_;
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::string> pauses_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
};

}  // namespace stretto
