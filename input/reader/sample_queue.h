// SPDX-License-Identifier: Apache-2.0
// SampleQueue: passes samples from the engine's thread to the consumer's, and accounts for their
// memory.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "input/io/meter.h"
#include "stretto/input.h"

namespace stretto::input {

/// An element for the consumer: a sample, an error in its place, or an end.
struct Item {
  enum class Kind : std::uint8_t { kSample, kError, kEpochEnd, kOver };
  Kind kind = Kind::kOver;
  Sample sample;
  Status status;
  std::uint64_t cost = 0;   ///< Memory charged until it is taken.
  std::uint64_t epoch = 0;  ///< The cursor after it is taken.
  std::uint64_t passed = 0;
};

/// Thread: put(), room_for() and use() are the engine's, take() the consumer's. One mutex.
class SampleQueue {
 public:
  SampleQueue(std::uint64_t most_bytes, const Clock& clock, Meter& meter)
      : most_bytes_(most_bytes), clock_(clock), meter_(meter) {}

  /// Delivers `items`, and empties it.
  void put(std::vector<Item>& items);
  /// Charges memory for samples; negative: returns unused memory.
  void use(std::int64_t bytes) { used_.fetch_add(bytes); }
  /// Whether `bytes` more are available. If not, `wake` is called once there is room.
  bool room_for(std::uint64_t bytes);
  void on_room(std::function<void()> wake) { wake_ = std::move(wake); }
  /// Whether the ends of epochs not yet taken, plus `planned`, have reached their limit. If so,
  /// `wake` is called as above.
  bool far_ahead(int planned);

  /// Waits for the next item. There is none after kOver. Nothing if an Interruptible of this thread
  /// ends the wait; later items stay for the next call.
  std::optional<Item> take();

 private:
  bool fetch();
  bool await_items();
  void tell_of_room();

  static constexpr int kMostEnds = 2;

  const std::uint64_t most_bytes_;
  const Clock& clock_;
  Meter& meter_;
  std::function<void()> wake_;
  std::atomic<std::int64_t> used_{0};
  std::atomic<int> ends_{0};
  std::atomic<bool> starved_{false};
  std::deque<Item> taken_;  // Used only by the consumer.
  Mutex mutex_;
  Condition filled_;
  std::vector<Item> ready_ GUARDED_BY(mutex_);
};

}  // namespace stretto::input
