// SPDX-License-Identifier: Apache-2.0
// Encodes a tensor that fits only the last-level cache, part by part, and decodes it into a sum.
// The bound is memcpy's time to read and write the bytes that the codec reads and writes.
#include "ops/codec.h"

#include <fmt/core.h>

#include <cstring>
#include <random>
#include <vector>

#include "tools/bench/settings/benchmarks.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

constexpr std::size_t kPartBytes = 256 << 10;
constexpr std::size_t kPartElements = kPartBytes / sizeof(float);
constexpr std::string_view kCodecs[] = {"fp16",
                                        "bf16",
                                        "int8",
                                        "onebit",
                                        "onebit,scaling=true",
                                        "topk,k=0.01",
                                        "topk,k=0.1",
                                        "randomk,k=0.01",
                                        "dithering,k=1",
                                        "dithering,k=127",
                                        "dithering,k=7,partition=natural,normalize=l2"};

/// A tensor, its encoded parts, and the sum to which they are added.
struct Arrays {
  explicit Arrays(std::size_t parts)
      : numbers(parts * kPartElements), sum(numbers.size()), encoded(parts * kPartBytes) {
    std::minstd_rand random(1);
    std::normal_distribution<float> normal;
    for (float& number : numbers) number = normal(random);
  }
  std::span<const float> part(std::size_t index) const {
    return std::span(numbers).subspan(index * kPartElements, kPartElements);
  }
  std::span<float> sum_of(std::size_t index) {
    return std::span(sum).subspan(index * kPartElements, kPartElements);
  }
  std::vector<float> numbers;
  std::vector<float> sum;
  std::vector<std::byte> encoded;
};

// Seconds of work(part) for all parts: the mean of whole rounds over at least `least` seconds.
template <typename Work>
double seconds_of(std::size_t parts, double least, Work work) {
  const auto start = now();
  double elapsed = 0;
  double rounds = 0;
  do {
    for (std::size_t part = 0; part < parts; ++part) work(part);
    rounds += 1;
    elapsed = seconds(now() - start);
  } while (elapsed < least);
  return elapsed / rounds;
}

struct Seconds {
  double copy = 0;
  double encode = 0;
  double decode_add = 0;
};

Seconds measure(const CodecSpec& spec, Arrays& arrays, double least) {
  const std::size_t parts = arrays.numbers.size() / kPartElements;
  const std::size_t small = ops::encoded_bytes(spec, kPartElements);
  const auto place = [&](std::size_t part) {
    return std::span(arrays.encoded).subspan(part * small, small);
  };
  Seconds seconds;
  seconds.copy = seconds_of(parts, least, [&](std::size_t part) {
    std::memcpy(arrays.sum_of(part).data(), arrays.part(part).data(), kPartBytes);
    asm volatile("" : : "r"(arrays.sum.data()) : "memory");  // Keeps the compiler from removing it.
  });
  seconds.encode = seconds_of(parts, least, [&](std::size_t part) {
    ops::encode(spec, arrays.part(part), {.stream = part}, place(part));
  });
  seconds.decode_add = seconds_of(parts, least, [&](std::size_t part) {
    ops::decode(spec, place(part), arrays.sum_of(part), ops::Then::kAdd);
  });
  return seconds;
}

Record record_of(std::string_view codec, std::size_t bytes, const std::vector<Seconds>& all) {
  const double copy = median_over(all, &Seconds::copy);
  const double encode = median_over(all, &Seconds::encode);
  const double decode = median_over(all, &Seconds::decode_add);
  const auto part_bytes = ops::encoded_bytes(*codec_from(codec), kPartElements);
  const double wire = static_cast<double>(part_bytes) / static_cast<double>(kPartBytes);
  const double size = static_cast<double>(bytes);
  Record record;
  // A copy moves 2 bytes for each of the tensor's; encoding 1 and its output; adding reads and
  // writes the sum.
  record.text("codec", codec)
      .count("bytes", bytes)
      .real("wire_ratio", wire)
      .real("encode_gb_per_s", size / encode / 1e9)
      .real("encode_ratio", (1 + wire) / 2 * copy / encode)
      .real("decode_add_gb_per_s", size / decode / 1e9)
      .real("decode_add_ratio", (2 + wire) / 2 * copy / decode)
      .real("memcpy_gb_per_s", size / copy / 1e9);
  return record;
}

}  // namespace

Status run_codec(const Settings& settings, Output& output) {
  output.title(fmt::format(
      "codecs, one thread, level {}, parts of {} KiB: medians of {} measurements of {} "
      "s each; ratios to memcpy of as many bytes",
      ops::name_of(ops::best_level()), kPartBytes >> 10, settings.repeats, settings.seconds));
  output.columns({"codec", "bytes", "wire_ratio", "encode_gb_per_s", "encode_ratio",
                  "decode_add_gb_per_s", "decode_add_ratio", "memcpy_gb_per_s"});
  for (const std::uint64_t bytes : settings.bytes) {
    Arrays arrays((bytes + kPartBytes - 1) / kPartBytes);
    const std::size_t whole = arrays.numbers.size() * sizeof(float);
    for (const std::string_view codec : kCodecs) {
      std::vector<Seconds> all;
      for (std::uint32_t i = 0; i < settings.repeats; ++i) {
        all.push_back(measure(*codec_from(codec), arrays, settings.seconds));
      }
      output.row(record_of(codec, whole, all));
    }
  }
  return {};
}

}  // namespace stretto::bench
