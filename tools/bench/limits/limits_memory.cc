// SPDX-License-Identifier: Apache-2.0
// One thread that copies or sums: from memory (64 MiB), and from its cache (256 KiB, a part).
#include <cstring>
#include <memory>

#include "common/memory/buffer.h"
#include "ops/sum.h"
#include "tools/bench/limits/limits.h"
#include "tools/bench/support/now.h"

namespace stretto::bench {
namespace {

/// Two arrays.
struct CopiedArrays {
  explicit CopiedArrays(std::size_t bytes)
      : target(Buffer::allocate(bytes)), source(Buffer::allocate(bytes)) {
    std::memset(target.writable().data(), 0, bytes);
    std::memset(source.writable().data(), 0, bytes);
  }
  Buffer target;
  Buffer source;
};

// GB/s of the target's bytes.
template <typename Work>
double rate(CopiedArrays& arrays, Duration time, Work work) {
  const Time start = now();
  double bytes = 0;
  Duration elapsed{};
  do {
    work(arrays.target.writable(), arrays.source.bytes());
    bytes += static_cast<double>(arrays.target.size());
    elapsed = now() - start;
  } while (elapsed < time);
  return bytes / seconds(elapsed) / 1e9;
}

void copy(std::span<std::byte> target, std::span<const std::byte> source) {
  std::memcpy(target.data(), source.data(), target.size());
  asm volatile("" : : "r"(target.data()) : "memory");  // Keeps the compiler from removing it.
}

void sum(std::span<std::byte> target, std::span<const std::byte> source) {
  ops::sum_into(Dtype::kF32, target, source);
}

}  // namespace

std::vector<Limit> memory_limits() {
  std::vector<Limit> limits;
  for (const std::size_t bytes : {std::size_t{64} << 20, std::size_t{256} << 10}) {
    const auto arrays = std::make_shared<CopiedArrays>(bytes);
    limits.push_back({"memcpy", bytes, false, [arrays](Duration time) -> Result<double> {
                        return rate(*arrays, time, copy);
                      }});
    limits.push_back({"sum_f32", bytes, false, [arrays](Duration time) -> Result<double> {
                        return rate(*arrays, time, sum);
                      }});
  }
  return limits;
}

}  // namespace stretto::bench
