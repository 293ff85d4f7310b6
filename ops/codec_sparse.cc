// SPDX-License-Identifier: Apache-2.0
// Codecs that keep k elements: the largest, or a random choice. Counting sizes finds the largest
// without sorting: it reads the part twice, and the few candidates once.
#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "common/mix64.h"
#include "ops/codec_parts.h"

namespace stretto::ops {

namespace {

constexpr std::size_t kPlaceBytes = sizeof(std::uint32_t);
constexpr std::uint32_t kMagnitude = 0x7fffffff;
constexpr std::uint32_t kBinShift = 20;
constexpr std::size_t kBins = 2048;

std::uint32_t size_of(float number) { return std::bit_cast<std::uint32_t>(number) & kMagnitude; }

void put(float& target, float value, Then then) {
  if (then == Then::kAssign) target = value;
  if (then == Then::kAdd) target += value;
  if (then == Then::kSubtract) target -= value;
}

/// The least size of a candidate: the lower end of the bin with the kept-th largest.
std::uint32_t lower_end(std::size_t kept, std::span<const float> numbers,
                        const CodecKernels& kernels) {
  std::array<std::uint32_t, kBins> counts{};
  kernels.count_sizes(counts.data(), numbers.data(), numbers.size());
  std::size_t above = 0;
  std::size_t bin = kBins;
  while (bin > 0 && above < kept) above += counts[--bin];
  return static_cast<std::uint32_t>(bin << kBinShift);
}

/// Reduces ascending places to the places of the `kept` largest; of equal sizes the first stay.
void keep_largest(std::vector<std::uint32_t>& places, std::size_t kept,
                  std::span<const float> numbers) {
  if (places.size() == kept) return;
  std::vector<std::uint32_t> sizes(places.size());
  std::ranges::transform(places, sizes.begin(),
                         [&](auto place) { return size_of(numbers[place]); });
  const auto nth = sizes.begin() + static_cast<std::ptrdiff_t>(kept - 1);
  std::ranges::nth_element(sizes, nth, std::greater<>());
  const std::uint32_t least = *nth;
  auto equals = static_cast<std::size_t>(std::count(sizes.begin(), nth + 1, least));
  std::erase_if(places, [&](std::uint32_t place) {
    const std::uint32_t size = size_of(numbers[place]);
    if (size != least) return size < least;
    if (equals == 0) return true;
    --equals;
    return false;
  });
}

/// Chooses one element of each of `kept` stretches of almost equal length.
class StretchChoice {
 public:
  StretchChoice(std::uint64_t stream, std::size_t kept, std::size_t count)
      : stream_(stream), kept_(kept), count_(count) {}
  std::size_t begin(std::size_t stretch) const { return stretch * count_ / kept_; }
  std::size_t length(std::size_t stretch) const { return begin(stretch + 1) - begin(stretch); }
  std::size_t place(std::size_t stretch) const {
    const std::uint64_t chance = mix64(stream_ + stretch * 0x9e3779b97f4a7c15U) >> 32;
    return begin(stretch) + static_cast<std::size_t>(chance * length(stretch) >> 32);
  }

 private:
  std::uint64_t stream_;
  std::size_t kept_;
  std::size_t count_;
};

}  // namespace

// ---- topk: places, ascending, then the elements

void encode_topk(std::size_t kept, std::span<const float> numbers, Level level,
                 std::span<std::byte> out) {
  if (kept == 0) return;
  const CodecKernels& kernels = codec_kernels_of(level);
  const std::uint32_t least = lower_end(kept, numbers, kernels);
  std::vector<std::uint32_t> places(numbers.size() + 16);
  places.resize(kernels.places_from(places.data(), numbers.data(), least, numbers.size()));
  keep_largest(places, kept, numbers);
  STRETTO_CHECK(places.size() == kept);
  std::memcpy(out.data(), places.data(), kept * kPlaceBytes);
  for (std::size_t i = 0; i < kept; ++i) {
    write(out, (kept + i) * kPlaceBytes, numbers[places[i]]);
  }
}

Status check_places(std::size_t count, std::span<const std::byte> in) {
  const std::size_t kept = in.size() / (2 * kPlaceBytes);
  std::uint64_t next = 0;  // The least valid next place.
  for (std::size_t i = 0; i < kept; ++i) {
    const auto place = read<std::uint32_t>(in, i * kPlaceBytes);
    if (place < next || place >= count) {
      return {Code::kMalformed, "place " + std::to_string(place) + " of " + std::to_string(count) +
                                    " elements came as number " + std::to_string(i) + " of " +
                                    std::to_string(kept) + "; places ascend and lie inside"};
    }
    next = std::uint64_t{place} + 1;
  }
  return {};
}

void decode_topk(std::span<const std::byte> in, std::span<float> target, Then then) {
  if (then == Then::kAssign) std::ranges::fill(target, 0.0F);
  const std::size_t kept = in.size() / (2 * kPlaceBytes);
  for (std::size_t i = 0; i < kept; ++i) {
    put(target[read<std::uint32_t>(in, i * kPlaceBytes)], read<float>(in, (kept + i) * kPlaceBytes),
        then);
  }
}

// ---- randomk: the stream, from which every receiver derives the places, then the elements

void encode_randomk(std::size_t kept, std::span<const float> numbers, const Encoding& how,
                    std::span<std::byte> out) {
  write(out, 0, how.stream);
  const StretchChoice choice(how.stream, kept, numbers.size());
  // An overflow must be visible even if its element is not chosen.
  const std::uint32_t most = codec_kernels_of(how.level).largest(numbers.data(), numbers.size());
  const float all = most < kInfinite ? 1.0F : std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 0; i < kept; ++i) {
    const float number = numbers[choice.place(i)];
    const float factor = all * (how.unbiased ? static_cast<float>(choice.length(i)) : 1.0F);
    write(out, sizeof how.stream + i * sizeof number, number * factor);
  }
}

void decode_randomk(std::span<const std::byte> in, std::span<float> target, Then then) {
  if (then == Then::kAssign) std::ranges::fill(target, 0.0F);
  const std::size_t kept = (in.size() - sizeof(std::uint64_t)) / sizeof(float);
  const StretchChoice choice(read<std::uint64_t>(in, 0), kept, target.size());
  for (std::size_t i = 0; i < kept; ++i) {
    put(target[choice.place(i)], read<float>(in, sizeof(std::uint64_t) + i * sizeof(float)), then);
  }
}

}  // namespace stretto::ops
