// SPDX-License-Identifier: Apache-2.0
// Lane: frames of one urgency in their order. A queue that keeps its memory: small frames come and
// go by the hundred thousand a second, and a deque allocates for every second of them.
#pragma once

#include <cstdint>
#include <vector>

#include "van/transport.h"

namespace stretto {

/// What decides who goes first: priority, then the time at which the bytes are wanted.
struct Urgency {
  std::int32_t priority = 0;    ///< Higher goes first.
  Time deadline = Time::max();  ///< Among equal priorities earlier goes first; max: no matter.

  /// More urgent first.
  friend bool operator<(const Urgency& a, const Urgency& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.deadline < b.deadline;
  }
  friend bool operator==(const Urgency&, const Urgency&) = default;
};

struct Frame {
  /// For traces; of the epoch while nobody traces.
  struct Times {
    Time queued;
    Time began;  ///< When its first slice left,
    Time left;   ///< and when its last one so far did.
  };

  wire::Header header;
  Buffer payload;
  Time deadline = Time::max();
  std::uint64_t tag = 0;  ///< Whose it is, for those who change their mind; 0: nobody's.
  bool bulk = false;  ///< What is more urgent may wait some milliseconds for what has left of it.

  // The queue's and the Van's:
  std::uint32_t sent = 0;            // Bytes of the payload that have been handed over.
  std::uint64_t first_sequence = 0;  // Of its first slice, once that has left.
  std::uint64_t order = 0;           // When it was queued.
  Times times;

  Urgency urgency() const { return {header.priority, deadline}; }
};

/// Thread: loop.
class Lane {
 public:
  using Iterator = std::vector<Frame>::iterator;

  bool empty() const { return gone_ == frames_.size(); }
  std::size_t size() const { return frames_.size() - gone_; }
  Frame& front() { return frames_[gone_]; }
  const Frame& front() const { return frames_[gone_]; }
  Iterator begin() { return frames_.begin() + static_cast<std::ptrdiff_t>(gone_); }
  Iterator end() { return frames_.end(); }
  auto begin() const { return frames_.begin() + static_cast<std::ptrdiff_t>(gone_); }
  auto end() const { return frames_.end(); }

  void push_back(Frame frame) { frames_.push_back(std::move(frame)); }
  void push_front(Frame frame) {
    if (gone_ > 0) {
      frames_[--gone_] = std::move(frame);
    } else {
      frames_.insert(frames_.begin(), std::move(frame));
    }
  }
  void pop_front() {
    frames_[gone_++].payload = Buffer();
    if (empty()) {
      clear();
    } else if (gone_ >= kLeastGone && gone_ * 2 >= frames_.size()) {
      frames_.erase(frames_.begin(), begin());
      gone_ = 0;
    }
  }
  Iterator erase(Iterator first, Iterator last) { return frames_.erase(first, last); }
  Iterator erase(Iterator one) { return frames_.erase(one); }
  /// Keeps memory for some.
  void clear() {
    frames_.clear();
    gone_ = 0;
    if (frames_.capacity() > kMostKept) frames_.shrink_to_fit();
  }

 private:
  static constexpr std::size_t kLeastGone = 64;   // Frames that have left, before room is made.
  static constexpr std::size_t kMostKept = 4096;  // Frames that an empty lane has room for.

  std::vector<Frame> frames_;
  std::size_t gone_ = 0;
};

}  // namespace stretto
