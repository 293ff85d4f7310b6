// SPDX-License-Identifier: Apache-2.0
// SampleQueue: where samples change hands, from the engine's thread to the consumer's, and where
// it is counted how much memory waits there.
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

/// What the consumer takes: a sample, an error in its place, or an end.
struct Item {
  enum class Kind : std::uint8_t { kSample, kError, kEpochEnd, kOver };
  Kind kind = Kind::kOver;
  Sample sample;
  Status status;
  std::uint64_t cost = 0;   ///< Of memory, until it is taken.
  std::uint64_t epoch = 0;  ///< The cursor, once it is taken.
  std::uint64_t passed = 0;
};

/// Thread: put(), room_for() and use() are the engine's, take() the consumer's. One mutex.
class SampleQueue {
 public:
  SampleQueue(std::uint64_t most_bytes, const Clock& clock, Meter& meter)
      : most_bytes_(most_bytes), clock_(clock), meter_(meter) {}

  /// Delivers; `items` is empty then.
  void put(std::vector<Item>& items);
  /// What so much memory waits for. May be negative: what was used is not.
  void use(std::int64_t bytes) { used_.fetch_add(bytes); }
  /// Whether that much more may be used. If not, `wake` is called once there is room again.
  bool room_for(std::uint64_t bytes);
  void on_room(std::function<void()> wake) { wake_ = std::move(wake); }
  /// Whether there are as many ends of epochs that nobody has taken yet, with `planned` more, as
  /// there may be. If so, `wake` is called as above.
  bool far_ahead(int planned);

  /// Waits for the next one. Behind kOver there is none. Nothing if an Interruptible of this thread
  /// ends the wait; what comes later is there for the next call.
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
  std::deque<Item> taken_;  // The consumer's.
  Mutex mutex_;
  Condition filled_;
  std::vector<Item> ready_ GUARDED_BY(mutex_);
};

}  // namespace stretto::input
