// SPDX-License-Identifier: Apache-2.0
// Line: what the two ends of a link share: a Unix socket and a small memory that both write to.
// Each direction has a ring of frames (header, and position of the payload in the sender's arena)
// and a bit for each payload that its reader has released.
//
// The peer can write anything there at any time. So each value is read once, into a copy, and
// checked before use; our own ring position is never read from there. All accesses are atomic: the
// ends are two processes, and either may write any word.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "van/shm/unix_socket.h"
#include "van/wire/header.h"

namespace stretto::shm {

/// Frames that one direction holds.
inline constexpr std::uint64_t kRingFrames = 256;
/// Payloads of one direction that may be in flight or being read.
inline constexpr std::uint32_t kSlots = 1024;
/// The slot of a frame without payload, or with one that is inline.
inline constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

/// Payloads up to this size lie in the ring itself.
inline constexpr std::size_t kMostInline = 104;

/// A frame in a ring.
struct Entry {
  wire::HeaderBytes header{};
  std::uint32_t chunk = 0;  ///< In the sender's arena,
  std::uint32_t slot = kNoSlot;
  std::uint64_t offset = 0;  ///< in that chunk.
  std::uint64_t bytes = 0;
  std::array<std::byte, kMostInline> payload{};  ///< Only if it is inline.

  /// A payload without a slot is inline.
  bool is_inline() const { return slot == kNoSlot && bytes > 0; }
};
static_assert(sizeof(Entry) == 256);

/// Thread: any.
class Line {
 public:
  enum class Side : std::uint8_t { kConnected, kAccepted };
  /// The events for which a waiting end wants its doorbell rung.
  enum Wish : std::uint32_t { kFrames = 1, kRoom = 2 };

  /// A new line to the listener at `name`, which has received its hello.
  static Result<std::shared_ptr<Line>> connect(std::string_view name);
  /// The line of a received hello.
  static Result<std::shared_ptr<Line>> accept(Descriptor socket, const Received& hello);

  Line(Descriptor socket, Mapping memory, Side side);

  const Descriptor& socket() const { return socket_; }

  // The frames that we send.
  void write(std::uint64_t index, const Entry& entry);
  /// Publishes all frames before `count` to the peer. ring_if() wakes it.
  void publish(std::uint64_t count);
  /// The number of frames that the peer reports as taken.
  std::uint64_t taken_there() const;
  /// The payloads released by the peer since the last call, among 64 slots.
  std::uint64_t take_returned(std::size_t word);

  // The frames that we receive.
  std::uint64_t published_there() const;
  Entry read(std::uint64_t index) const;
  /// Frames taken so far.
  void note_taken(std::uint64_t count);
  /// Rings if the peer waits for that event.
  void ring_if(Wish wish);
  /// Releases a payload.
  void give_back(std::uint32_t slot);
  /// Adds `cost` bytes to the peer's memory that we hold. Returns the sum before.
  std::size_t lease(std::size_t cost) { return leased_.fetch_add(cost); }
  void end_lease(std::uint32_t slot, std::size_t cost) {
    give_back(slot);
    leased_.fetch_sub(cost);
  }

  // Both.
  void wish(std::uint32_t wishes);
  /// Tells the peer that we have closed. It may go on reading our memory.
  void say_closed();
  bool closed_there() const;

 private:
  struct Direction {
    alignas(64) std::atomic<std::uint64_t> published;
    alignas(64) std::atomic<std::uint64_t> taken;
    alignas(64) std::array<std::atomic<std::uint64_t>, kSlots / 64> returned;
    alignas(
        64) std::array<std::array<std::atomic<std::uint64_t>, sizeof(Entry) / 8>, kRingFrames> ring;
  };
  struct End {
    alignas(64) std::atomic<std::uint32_t> wishes;
    std::atomic<std::uint32_t> closed;
  };
  struct Shared {
    std::array<End, 2> ends;
    std::array<Direction, 2> directions;  // By sender.
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  static Result<Mapping> map(const Descriptor& memory);
  Shared& shared() const;
  std::size_t ours() const { return side_ == Side::kConnected ? 0 : 1; }
  std::size_t theirs() const { return 1 - ours(); }
  Direction& out() const { return shared().directions[ours()]; }
  Direction& in() const { return shared().directions[theirs()]; }

  const Descriptor socket_;
  const Mapping memory_;
  const Side side_;
  std::atomic<std::size_t> leased_{0};
};

}  // namespace stretto::shm
