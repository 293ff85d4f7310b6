// SPDX-License-Identifier: Apache-2.0
// All accesses are atomic; each word is read with acquire and written with release. So a reader of
// a word sees the odd sequence number that precedes it.
#include "van/host_window/host_registry.h"

namespace stretto::host {
namespace {

constexpr int kReads = 4;  // Retries of an entry that is being written.
// For owners of unknown state; a live loop iterates once a heartbeat.
constexpr Duration kLongGone = std::chrono::minutes(1);

EntryWords load(const std::array<std::atomic<std::uint64_t>, kEntryWords>& from) {
  EntryWords words{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = from[i].load(std::memory_order_acquire);
  }
  return words;
}

}  // namespace

bool HostRegistry::is_free(const SeatsLayout::Seat& seat, std::uint64_t owner,
                           const LifeOf& life_of, Time now) const {
  if (owner == 0) return true;
  const Life life = life_of({.owner = owner, .space = seat.space.load(std::memory_order_acquire)});
  if (life != Life::kUnknown) return life == Life::kGone;
  const Time alive_at = HostEntry::of(load(seat.words)).alive_at;
  return alive_at < now - kLongGone || alive_at > now + kLongGone;
}

bool HostRegistry::take(std::size_t number, const ProcessMark& mine, const LifeOf& life_of,
                        Time now) {
  SeatsLayout::Seat& seat = layout_.seats[number];
  std::uint64_t owner = seat.owner.load();
  if (owner == mine.owner || !is_free(seat, owner, life_of, now)) return false;
  if (!seat.owner.compare_exchange_strong(owner, mine.owner)) return false;
  seat.space.store(mine.space, std::memory_order_release);
  write(number, {.alive_at = now});
  return true;
}

std::optional<std::size_t> HostRegistry::take(const ProcessMark& mine, const LifeOf& life_of,
                                              Time now) {
  for (std::size_t i = 0; i < kSeats; ++i) {
    if (take(i, mine, life_of, now)) return i;
  }
  return std::nullopt;
}

bool HostRegistry::take_all(const ProcessMark& mine, const LifeOf& life_of, Time now) {
  std::size_t count = 0;
  while (count < kSeats && take(count, mine, life_of, now)) ++count;
  if (count == kSeats) return true;
  while (count > 0) give_up(--count, mine);
  return false;
}

bool HostRegistry::has(std::size_t seat, const ProcessMark& mine) const {
  return layout_.seats[seat].owner.load(std::memory_order_relaxed) == mine.owner &&
         layout_.seats[seat].space.load(std::memory_order_relaxed) == mine.space;
}

void HostRegistry::give_up(std::size_t seat, const ProcessMark& mine) {
  std::uint64_t owner = mine.owner;
  if (!has(seat, mine)) return;
  write(seat, {});
  layout_.seats[seat].owner.compare_exchange_strong(owner, 0);
}

void HostRegistry::write(std::size_t seat, const HostEntry& entry) {
  SeatsLayout::Seat& to = layout_.seats[seat];
  const EntryWords words = entry.words();
  const std::uint64_t odd = to.sequence.load(std::memory_order_relaxed) | 1;
  to.sequence.store(odd, std::memory_order_relaxed);
  for (std::size_t i = 0; i < words.size(); ++i) {
    to.words[i].store(words[i], std::memory_order_release);
  }
  to.sequence.store(odd + 1, std::memory_order_release);
}

std::optional<HostEntry> HostRegistry::read(std::size_t seat) const {
  const SeatsLayout::Seat& from = layout_.seats[seat];
  for (int i = 0; i < kReads; ++i) {
    const std::uint64_t before = from.sequence.load(std::memory_order_acquire);
    if ((before & 1) != 0) continue;
    const EntryWords words = load(from.words);
    if (from.sequence.load(std::memory_order_relaxed) == before) return HostEntry::of(words);
  }
  return std::nullopt;
}

std::size_t HostRegistry::read_others(std::size_t mine, std::array<HostEntry, kSeats>& into) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kSeats; ++i) {
    if (i == mine || layout_.seats[i].owner.load(std::memory_order_relaxed) == 0) continue;
    const auto entry = read(i);
    if (!entry) continue;
    into[count] = *entry;
    into[count++].seat = i;
  }
  return count;
}

}  // namespace stretto::host
