// SPDX-License-Identifier: Apache-2.0
// Rings, bits and doorbells. A waiting end sets its wish and then checks the ring again; a sender
// publishes and then checks for a wish. All four are seq_cst, so at least one end sees the other's
// store, and no end sleeps over a frame.
#include "van/shm/shared_rings.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>

namespace stretto::shm {
namespace {

// Number of 8-byte words of an entry: kWordsBefore counts the words before an inline payload,
// words_of() all used words.
constexpr std::size_t kWordsBefore = offsetof(Entry, payload) / 8;
std::size_t words_of(const Entry& entry) {
  const std::size_t bytes = entry.is_inline() ? std::min<std::size_t>(entry.bytes, kMostInline) : 0;
  return kWordsBefore + (bytes + 7) / 8;
}

}  // namespace

Line::Line(Descriptor socket, Mapping memory, Side side)
    : socket_(std::move(socket)), memory_(std::move(memory)), side_(side) {}

// The memory of a new memfd is zero, which is the initial value of all these atomics.
Line::Shared& Line::shared() const {
  return *std::launder(reinterpret_cast<Shared*>(memory_.data()));
}

Result<Mapping> Line::map(const Descriptor& memory) {
  return Mapping::map(memory, sizeof(Shared), Mapping::Access::kWrite);
}

Result<std::shared_ptr<Line>> Line::connect(std::string_view name) {
  Result<Descriptor> socket = connect_to(name);
  if (!socket.ok()) return socket.status();
  Result<Descriptor> memory = make_memory(sizeof(Shared));
  if (!memory.ok()) return memory.status();
  Result<Mapping> mapping = map(*memory);
  if (!mapping.ok()) return mapping.status();
  if (Status status = seal(*memory, false); !status.ok()) return status;
  const SocketMessage hello{
      .kind = SocketMessage::Kind::kHello, .number = kVersion, .bytes = sizeof(Shared)};
  if (tell(*socket, hello, &*memory) != Told::kYes) {
    return Status(Code::kLinkBroken, fmt::format("who listens at 'shm:{}' hung up", name));
  }
  return std::make_shared<Line>(*std::move(socket), *std::move(mapping), Side::kConnected);
}

Result<std::shared_ptr<Line>> Line::accept(Descriptor socket, const Received& hello) {
  if (hello.what != Received::What::kNote || hello.note.kind != SocketMessage::Kind::kHello ||
      hello.note.number != kVersion || hello.note.bytes != sizeof(Shared) ||
      !hello.memory.is_open()) {
    return Status(Code::kMalformed, "the first note is no hello of this release");
  }
  if (Status status = check_memory(hello.memory, sizeof(Shared)); !status.ok()) return status;
  Result<Mapping> mapping = map(hello.memory);
  if (!mapping.ok()) return mapping.status();
  return std::make_shared<Line>(std::move(socket), *std::move(mapping), Side::kAccepted);
}

void Line::write(std::uint64_t index, const Entry& entry) {
  const auto words = std::bit_cast<std::array<std::uint64_t, sizeof(Entry) / 8>>(entry);
  auto& place = out().ring[index % kRingFrames];
  const std::size_t count = words_of(entry);
  for (std::size_t i = 0; i < count; ++i) {
    place[i].store(words[i], std::memory_order_relaxed);
  }
}

void Line::publish(std::uint64_t count) { out().published.store(count, std::memory_order_seq_cst); }

std::uint64_t Line::taken_there() const { return out().taken.load(std::memory_order_seq_cst); }

std::uint64_t Line::take_returned(std::size_t word) {
  std::atomic<std::uint64_t>& bits = out().returned[word];
  if (bits.load(std::memory_order_seq_cst) == 0) return 0;
  return bits.exchange(0, std::memory_order_seq_cst);
}

std::uint64_t Line::published_there() const {
  return in().published.load(std::memory_order_seq_cst);
}

Entry Line::read(std::uint64_t index) const {
  std::array<std::uint64_t, sizeof(Entry) / 8> words{};
  const auto& place = in().ring[index % kRingFrames];
  std::size_t copied = 0;
  const auto copy = [&](std::size_t count) {
    for (; copied < count; ++copied) words[copied] = place[copied].load(std::memory_order_relaxed);
  };
  copy(kWordsBefore);
  copy(words_of(std::bit_cast<Entry>(words)));
  return std::bit_cast<Entry>(words);
}

void Line::note_taken(std::uint64_t count) { in().taken.store(count, std::memory_order_seq_cst); }

void Line::give_back(std::uint32_t slot) {
  in().returned[slot / 64].fetch_or(std::uint64_t{1} << (slot % 64), std::memory_order_seq_cst);
  ring_if(kRoom);
}

void Line::wish(std::uint32_t wishes) {
  shared().ends[ours()].wishes.store(wishes, std::memory_order_seq_cst);
}

void Line::ring_if(Wish wish) {
  std::atomic<std::uint32_t>& wishes = shared().ends[theirs()].wishes;
  if ((wishes.load(std::memory_order_seq_cst) & wish) == 0) return;
  // One ring wakes the peer for everything.
  if (wishes.exchange(0, std::memory_order_seq_cst) == 0) return;
  // A socket full of doorbells, or a peer that has ended, does not need another.
  static_cast<void>(tell(socket_, SocketMessage{}));
}

void Line::say_closed() {
  shared().ends[ours()].closed.store(1, std::memory_order_seq_cst);
  static_cast<void>(tell(socket_, SocketMessage{}));
}

bool Line::closed_there() const {
  return shared().ends[theirs()].closed.load(std::memory_order_seq_cst) != 0;
}

}  // namespace stretto::shm
