// SPDX-License-Identifier: Apache-2.0
// HostRegistry: the entries of all endpoints of a host in shared memory, one seat each. A seat is
// taken and given up by one atomic exchange, and written by its owner alone, under a sequence
// number that is odd meanwhile (a seqlock): nobody waits for anybody. Nothing in it is trusted: the
// user's other programs may write anything there at any time, and what is read is only ever cut to
// what could be.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <optional>

#include "van/host_window/host_rate.h"
#include "van/host_window/process_id.h"

namespace stretto::host {

inline constexpr std::size_t kSeats = HostRate::kMostSeats;

/// What lies in shared memory. Thread: any.
struct SeatsLayout {
  struct alignas(128) Seat {
    std::atomic<std::uint64_t> owner;  // ProcessMark; 0: nobody has it.
    std::atomic<std::uint64_t> space;
    std::atomic<std::uint64_t> sequence;
    std::array<std::atomic<std::uint64_t>, kEntryWords> words;
  };
  alignas(128) std::atomic<std::uint64_t> magic;  // 0: it has been made just now.
  std::array<Seat, kSeats> seats;
};
static_assert(sizeof(SeatsLayout::Seat) == 128);
static_assert(sizeof(SeatsLayout) == 128 * (kSeats + 1));
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Tells whether who has a seat is still there.
using LifeOf = std::function<Life(const ProcessMark&)>;

/// Thread: loop. Over memory that outlives it.
class HostRegistry {
 public:
  explicit HostRegistry(SeatsLayout& layout) : layout_(layout) {}

  /// Takes a seat that nobody has, or whose owner has gone: its process is no more or, where that
  /// cannot be told, has told nothing for a long time. None if there is none.
  std::optional<std::size_t> take(const ProcessMark& mine, const LifeOf& life_of, Time now);
  /// Takes all of them; none if that cannot be.
  bool take_all(const ProcessMark& mine, const LifeOf& life_of, Time now);
  /// False if somebody has taken it for one whose owner had gone.
  bool has(std::size_t seat, const ProcessMark& mine) const;
  void give_up(std::size_t seat, const ProcessMark& mine);

  void write(std::size_t seat, const HostEntry& entry);
  /// None while it is being written, or if whoever wrote it has stopped in the middle.
  std::optional<HostEntry> read(std::size_t seat) const;
  /// Those of all seats that somebody has, but for `mine`; how many.
  std::size_t read_others(std::size_t mine, std::array<HostEntry, kSeats>& into) const;

 private:
  bool take(std::size_t seat, const ProcessMark& mine, const LifeOf& life_of, Time now);
  bool is_free(const SeatsLayout::Seat& seat, std::uint64_t owner, const LifeOf& life_of,
               Time now) const;

  SeatsLayout& layout_;
};

}  // namespace stretto::host
