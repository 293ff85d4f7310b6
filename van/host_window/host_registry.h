// SPDX-License-Identifier: Apache-2.0
// HostRegistry: the entries of all endpoints of a host in shared memory, one seat each. One atomic
// exchange takes or releases a seat. Only the owner writes a seat, under a sequence number that is
// odd meanwhile (a seqlock), so no process blocks. Contents are untrusted: the user's other
// programs may write at any time, so readers clamp all values.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <optional>

#include "van/host_window/host_rate.h"
#include "van/host_window/process_id.h"

namespace stretto::host {

inline constexpr std::size_t kSeats = HostRate::kMostSeats;

/// Layout of the shared memory. Thread: any.
struct SeatsLayout {
  struct alignas(128) Seat {
    std::atomic<std::uint64_t> owner;  // ProcessMark; 0: free.
    std::atomic<std::uint64_t> space;
    std::atomic<std::uint64_t> sequence;
    std::array<std::atomic<std::uint64_t>, kEntryWords> words;
  };
  alignas(128) std::atomic<std::uint64_t> magic;  // 0: just created.
  std::array<Seat, kSeats> seats;
};
static_assert(sizeof(SeatsLayout::Seat) == 128);
static_assert(sizeof(SeatsLayout) == 128 * (kSeats + 1));
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Tells whether the owner of a seat is alive.
using LifeOf = std::function<Life(const ProcessMark&)>;

/// Works on memory that must outlive it. Thread: loop.
class HostRegistry {
 public:
  explicit HostRegistry(SeatsLayout& layout) : layout_(layout) {}

  /// Takes a seat that is free or abandoned: its owner has exited or, if that is unknown, has
  /// written nothing for a long time. None if all are taken.
  std::optional<std::size_t> take(const ProcessMark& mine, const LifeOf& life_of, Time now);
  /// Takes all seats, or none if one is taken.
  bool take_all(const ProcessMark& mine, const LifeOf& life_of, Time now);
  /// False if another process has taken the seat as abandoned.
  bool has(std::size_t seat, const ProcessMark& mine) const;
  void give_up(std::size_t seat, const ProcessMark& mine);

  void write(std::size_t seat, const HostEntry& entry);
  /// None while the entry is being written, or if its writer stopped in the middle.
  std::optional<HostEntry> read(std::size_t seat) const;
  /// Reads the entries of all taken seats but `mine`; returns their number.
  std::size_t read_others(std::size_t mine, std::array<HostEntry, kSeats>& into) const;

 private:
  bool take(std::size_t seat, const ProcessMark& mine, const LifeOf& life_of, Time now);
  bool is_free(const SeatsLayout::Seat& seat, std::uint64_t owner, const LifeOf& life_of,
               Time now) const;

  SeatsLayout& layout_;
};

}  // namespace stretto::host
