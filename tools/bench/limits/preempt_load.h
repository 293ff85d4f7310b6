// SPDX-License-Identifier: Apache-2.0
// The load of preempt, whatever carries it: urgent messages one after another, each timed from
// being submitted until its answer is there, while a background never runs dry.
#pragma once

#include <cstdint>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/report.h"

namespace stretto::bench {

/// The sending end of one way of sending. Thread: loop.
class LoadSender {
 public:
  virtual ~LoadSender() = default;
  /// From now on there are always as many background bytes in flight to each peer as was asked for.
  virtual Status start_background() = 0;
  /// Submits a message to the first peer: ahead of the background, if it is `urgent`.
  virtual Status send_message(bool urgent) = 0;
  /// Sends and receives; returns when something has come, at `until` at the latest.
  virtual Status step(Time until) = 0;

  /// CPU time so far of what sends.
  virtual double cpu_s() const { return cpu_seconds(); }
  /// Messages that have been answered.
  std::uint64_t answered() const { return answered_; }
  /// Background bytes that the peers say they have.
  std::uint64_t delivered_bytes() const { return delivered_bytes_; }

 protected:
  std::uint64_t answered_ = 0;
  std::uint64_t delivered_bytes_ = 0;
};

/// A rate from the first arrival to the last: what is in flight at either end makes no error.
class RateMeter {
 public:
  /// Forgets; `bytes_so_far` is what has arrived before.
  void start(std::uint64_t bytes_so_far) {
    arrivals_ = 0;
    last_bytes_ = bytes_so_far;
  }
  void note(Time now, std::uint64_t bytes_so_far) {
    if (bytes_so_far == last_bytes_) return;
    if (arrivals_++ == 0) {
      first_ = now;
      first_bytes_ = bytes_so_far;
    }
    last_ = now;
    last_bytes_ = bytes_so_far;
  }
  std::uint64_t arrivals() const { return arrivals_; }
  /// 0 of fewer than two arrivals.
  double gb_per_s() const {
    if (arrivals_ < 2) return 0;
    const double time = seconds(last_ - first_);
    return static_cast<double>(last_bytes_ - first_bytes_) / time / 1e9;
  }

 private:
  std::uint64_t arrivals_ = 0;
  Time first_;
  Time last_;
  std::uint64_t first_bytes_ = 0;
  std::uint64_t last_bytes_ = 0;
};

/// Unloaded, background alone, the first urgent message beside it, both: what the carrier makes of
/// it. `seconds` is of the last, which goes on until there are a few answers; the others take as
/// long again.
Result<Report> drive(LoadSender& carrier, double seconds);

}  // namespace stretto::bench
