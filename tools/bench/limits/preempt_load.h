// SPDX-License-Identifier: Apache-2.0
// The load of preempt, for any sender: consecutive urgent messages, each timed from its submission
// to its answer, beside an endless background.
#pragma once

#include <cstdint>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/report.h"

namespace stretto::bench {

/// The sending end of one variant. Thread: loop.
class LoadSender {
 public:
  virtual ~LoadSender() = default;
  /// From now on the requested number of background bytes is always in flight to each peer.
  virtual Status start_background() = 0;
  /// Submits a message to the first peer; if `urgent`, ahead of the background.
  virtual Status send_message(bool urgent) = 0;
  /// Sends and receives; returns after an arrival, or at `until`.
  virtual Status step(Time until) = 0;

  /// CPU time of the sender so far.
  virtual double cpu_s() const { return cpu_seconds(); }
  /// Answered messages.
  std::uint64_t answered() const { return answered_; }
  /// Background bytes that the peers have acknowledged.
  std::uint64_t delivered_bytes() const { return delivered_bytes_; }

 protected:
  std::uint64_t answered_ = 0;
  std::uint64_t delivered_bytes_ = 0;
};

/// A rate from the first arrival to the last: bytes in flight at either end cause no error.
class RateMeter {
 public:
  /// Resets; `bytes_so_far` arrived before.
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
  /// 0 with fewer than two arrivals.
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

/// Measures four phases: unloaded, background alone, the first urgent message beside it, both.
/// `seconds` is the last phase, which is extended until there are a few answers; the others take
/// the same time together.
Result<Report> drive(LoadSender& carrier, double seconds);

}  // namespace stretto::bench
