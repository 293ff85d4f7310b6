// SPDX-License-Identifier: Apache-2.0
// A ring in shared memory: one thread copies pieces in, another copies them out, each through its
// own mapping, as in two processes. Idle threads wait by futex.
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "common/descriptor.h"
#include "common/memory/buffer.h"
#include "tools/bench/limits/limits.h"
#include "tools/bench/support/now.h"

namespace stretto::bench {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;  // A part.
constexpr std::uint64_t kPieces = 4;
constexpr std::size_t kMemoryBytes = std::size_t{64} << 20;  // At each end, larger than a cache.
constexpr std::uint64_t kLast = std::uint64_t{1} << 63;

/// A mapping of the ring's memory.
struct MappedRing {
  explicit MappedRing(int memory)
      : start(::mmap(nullptr, kPieces * kPieceBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory,
                     0)) {}
  ~MappedRing() {
    if (is_there()) ::munmap(start, kPieces * kPieceBytes);
  }
  MappedRing(const MappedRing&) = delete;
  MappedRing& operator=(const MappedRing&) = delete;
  bool is_there() const { return start != MAP_FAILED; }
  std::byte* piece(std::uint64_t index) const {
    return static_cast<std::byte*>(start) + index % kPieces * kPieceBytes;
  }
  void* start;
};

/// The numbers of pieces put in and taken out; `put` ends with kLast added.
struct Counts {
  alignas(64) std::atomic<std::uint64_t> put{0};
  alignas(64) std::atomic<std::uint64_t> taken{0};
};

void drain(const MappedRing& ring, Counts& counts, std::span<std::byte> memory) {
  for (std::uint64_t taken = 0;; ++taken) {
    counts.put.wait(taken, std::memory_order_acquire);
    if (counts.put.load(std::memory_order_acquire) == (taken | kLast)) return;
    std::memcpy(memory.data() + taken * kPieceBytes % kMemoryBytes, ring.piece(taken), kPieceBytes);
    counts.taken.store(taken + 1, std::memory_order_release);
    counts.taken.notify_one();
  }
}

// Returns GB/s.
Result<double> shm_stream(Duration time) {
  const Descriptor memory(::memfd_create("stretto-bench", MFD_CLOEXEC));
  if (::ftruncate(memory.get(), kPieces * kPieceBytes) != 0) {
    return Status(Code::kResource, fmt::format("no shared memory: {}", std::strerror(errno)));
  }
  const MappedRing in(memory.get());
  const MappedRing out(memory.get());
  if (!in.is_there() || !out.is_there()) return Status(Code::kResource, "no shared memory");
  Buffer source = Buffer::allocate(kMemoryBytes);
  Buffer target = Buffer::allocate(kMemoryBytes);
  std::memset(source.writable().data(), 1, kMemoryBytes);
  std::memset(target.writable().data(), 1, kMemoryBytes);
  Counts counts;
  std::jthread reader([&] { drain(out, counts, target.writable()); });
  const Time start = now();
  std::uint64_t put = 0;
  for (; now() - start < time; ++put) {
    for (std::uint64_t taken = counts.taken; put - taken == kPieces; taken = counts.taken) {
      counts.taken.wait(taken);
    }
    std::memcpy(in.piece(put), source.data() + put * kPieceBytes % kMemoryBytes, kPieceBytes);
    counts.put.store(put + 1, std::memory_order_release);
    counts.put.notify_one();
  }
  counts.put.fetch_or(kLast);
  counts.put.notify_one();
  reader.join();
  return static_cast<double>(put * kPieceBytes) / seconds(now() - start) / 1e9;
}

}  // namespace

std::vector<Limit> shm_limits() { return {{"shm_ring", kPieceBytes, false, shm_stream}}; }

}  // namespace stretto::bench
