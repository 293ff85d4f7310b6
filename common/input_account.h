// SPDX-License-Identifier: Apache-2.0
// InputAccount: what the readers of a process did, for whoever tells others of it, and the limit
// that these set the readers. Readers and the worker's runtime meet here and know nothing of one
// another: a program may have either without the other.
//
// What a program demanded is what it was delivered, and what it would have taken while it waited:
// it is taken to go on as fast as it did while it did not wait.
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

/// In all, since the account was opened.
struct InputTotals {
  Time at;  ///< When this held.
  std::uint64_t delivered_bytes = 0;
  std::uint64_t demanded_bytes = 0;
  Duration stall{};  ///< Time in which the program waited for data.
  std::uint64_t requests = 0;
  Duration latency{};                 ///< Of all these requests together.
  std::uint64_t in_flight_bytes = 0;  ///< What readers in use want in flight, now.
  std::uint64_t read_bytes = 0;       ///< Their largest read size.
};

/// Where one reader counts, and is told its limit. Thread: any. No mutex: it is written for each
/// sample; waits() and goes_on() are the consumer's alone.
class InputFeed {
 public:
  void delivered(std::uint64_t bytes) { delivered_.fetch_add(bytes, std::memory_order_relaxed); }
  void requested(Duration latency);
  /// The consumer begins to wait for data, and has got some.
  void waits(Time now);
  void goes_on(Time now);
  /// What the reader would have in flight without a limit.
  void wants(std::uint64_t in_flight_bytes, std::uint64_t read_bytes);

  std::uint64_t delivered_bytes() const { return delivered_.load(std::memory_order_relaxed); }
  /// With a wait that lasts until now.
  Duration stall(Time now) const;
  /// At most so many bytes in flight; 0: as many as it likes.
  std::uint64_t limit_bytes() const { return limit_.load(std::memory_order_relaxed); }

 private:
  friend class InputAccount;

  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<Duration::rep> latency_{0};
  std::atomic<Duration::rep> stall_{0};
  std::atomic<Duration::rep> waits_since_{0};  // 0: it does not.
  std::atomic<std::uint64_t> in_flight_{0};
  std::atomic<std::uint64_t> read_{0};
  std::atomic<std::uint64_t> limit_{0};
};

/// Thread: any. One mutex.
class InputAccount {
 public:
  /// For a new reader. What it counted stays when it is gone.
  std::shared_ptr<InputFeed> open(Time now);
  /// None if there was never a reader. Demand is reckoned between calls, a tenth of a second apart
  /// or more: those between get what the one before got.
  std::optional<InputTotals> totals(Time now);
  /// What all readers together may have in flight from now on; 0: no limit. It is somebody else's
  /// wish: none is held below a sixteenth of what it wants itself, or below 64 KiB.
  void set_limit(std::uint64_t bytes);

 private:
  struct Entry {
    std::shared_ptr<InputFeed> feed;
    std::uint64_t delivered = 0;  // That is in the totals.
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
  double rate_ GUARDED_BY(mutex_) = 0;  // Bytes a second that the program last took unhindered.
  std::uint64_t limit_ GUARDED_BY(mutex_) = 0;
};

}  // namespace stretto
