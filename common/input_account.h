// SPDX-License-Identifier: Apache-2.0
// InputAccount: counters of a process's readers for the worker's runtime, and the limit that it
// sets for the readers. Readers and runtime depend only on this: a program may have either without
// the other.
//
// A program's demand is its delivered bytes plus those it would have taken while it waited, at its
// rate outside of waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/mutex.h"
#include "stretto/input_account.h"
#include "stretto/types.h"

namespace stretto {

/// Totals since the account was opened.
struct InputTotals {
  Time at;  ///< Time of the reading.
  std::uint64_t delivered_bytes = 0;
  std::uint64_t demanded_bytes = 0;
  Duration stall{};  ///< Time in which the program waited for data.
  std::uint64_t requests = 0;
  Duration latency{};                 ///< Sum over all requests.
  std::uint64_t in_flight_bytes = 0;  ///< Currently wanted by readers in use.
  std::uint64_t read_bytes = 0;       ///< Their largest read size.
};

/// One reader's counters and limit. Thread: any. No mutex: it is written for each sample; only the
/// consumer calls waits() and goes_on().
class InputFeed {
 public:
  void delivered(std::uint64_t bytes) { delivered_.fetch_add(bytes, std::memory_order_relaxed); }
  void requested(Duration latency);
  /// waits(): the consumer starts to wait for data. goes_on(): the consumer has received data.
  void waits(Time now);
  void goes_on(Time now);
  /// The reader's unlimited bytes in flight.
  void wants(std::uint64_t in_flight_bytes, std::uint64_t read_bytes);

  std::uint64_t delivered_bytes() const { return delivered_.load(std::memory_order_relaxed); }
  /// Including a current wait.
  Duration stall(Time now) const;
  /// Limit of bytes in flight; 0: none.
  std::uint64_t limit_bytes() const { return limit_.load(std::memory_order_relaxed); }

 private:
  friend class InputAccount;

  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<Duration::rep> latency_{0};
  std::atomic<Duration::rep> stall_{0};
  std::atomic<Duration::rep> waits_since_{0};  // 0: no wait.
  std::atomic<std::uint64_t> in_flight_{0};
  std::atomic<std::uint64_t> read_{0};
  std::atomic<std::uint64_t> limit_{0};
};

/// Thread: any. One mutex.
class InputAccount {
 public:
  /// For a new reader. Its counts remain after its destruction.
  std::shared_ptr<InputFeed> open(Time now);
  /// None if there was never a reader. Demand is updated at most every tenth of a second; earlier
  /// calls get the last result.
  std::optional<InputTotals> totals(Time now);
  /// Limits the bytes in flight of all readers together; 0: no limit. The scheduler sets it: no
  /// reader gets less than a sixteenth of what it wants, or less than 64 KiB.
  void set_limit(std::uint64_t bytes);

 private:
  struct Entry {
    std::shared_ptr<InputFeed> feed;
    std::uint64_t delivered = 0;  // Included in the totals.
    std::uint64_t requests = 0;
    Duration latency{};
    Duration stall{};
    bool in_use = false;
  };

  void settle(Time now) REQUIRES(mutex_);
  void share_limit() REQUIRES(mutex_);
  std::uint64_t demand(std::uint64_t delivered, Duration stall, Duration length) REQUIRES(mutex_);

  Mutex mutex_;
  bool opened_ GUARDED_BY(mutex_) = false;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
  InputTotals totals_ GUARDED_BY(mutex_);
  double rate_ GUARDED_BY(mutex_) = 0;  // Bytes per second that the program last took unhindered.
  std::uint64_t limit_ GUARDED_BY(mutex_) = 0;
};

}  // namespace stretto
