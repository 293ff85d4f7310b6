// SPDX-License-Identifier: Apache-2.0
// Properties of every codec: decoded values are close enough, random rounding is unbiased, every
// processor level gives the same bytes, and lengths and places from a peer are checked.
#include "ops/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "ops/codec_parts.h"

namespace stretto::ops {
namespace {

using Bytes = std::vector<std::byte>;
using Floats = std::vector<float>;

constexpr std::size_t kLengths[] = {1, 2, 15, 16, 17, 31, 33, 255, 256, 257, 1023, 1025, 5000};
const std::string_view kSpecs[] = {"fp16",
                                   "bf16",
                                   "int8",
                                   "onebit",
                                   "onebit,scaling=true",
                                   "topk,k=0.01",
                                   "topk,k=7",
                                   "randomk,k=0.1,seed=3",
                                   "randomk,k=1000000",
                                   "dithering,k=1",
                                   "dithering,k=7,partition=natural",
                                   "dithering,k=5,normalize=l2",
                                   "dithering,k=127",
                                   "dithering,k=127,partition=natural,normalize=l2"};

CodecSpec spec(std::string_view text) { return *codec_from(text); }

Floats normal(std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> distribution;
  Floats numbers(count);
  for (float& number : numbers) number = distribution(random);
  return numbers;
}

Bytes encoded(const CodecSpec& s, const Floats& numbers, const Encoding& how = {}) {
  Bytes out(encoded_bytes(s, numbers.size()));
  encode(s, numbers, how, out);
  return out;
}

Floats decoded(const CodecSpec& s, const Bytes& bytes, std::size_t count) {
  Floats out(count, 99.0F);
  EXPECT_TRUE(check_encoded(s, count, bytes).ok());
  decode(s, bytes, out, Then::kAssign);
  return out;
}

Floats there_and_back(const CodecSpec& s, const Floats& numbers, const Encoding& how = {}) {
  return decoded(s, encoded(s, numbers, how), numbers.size());
}

float size_of(float x) { return std::fabs(x); }

float largest(const Floats& numbers) {
  return size_of(*std::ranges::max_element(numbers, {}, size_of));
}

/// Numbers of which some have unusual values.
Floats odd(std::size_t count, std::uint64_t seed) {
  Floats numbers = normal(count, seed);
  const float unusual[] = {0.0F, -0.0F, 1e-40F, -1e-40F, 3e38F, -3e38F, 1e-30F, 0.5F, -0.5F};
  for (std::size_t i = 0; i < count; i += 7) numbers[i] = unusual[i / 7 % std::size(unusual)];
  return numbers;
}

TEST(Codec, EveryLevelGivesTheSameBytesAndNumbers) {
  for (const std::string_view text : kSpecs) {
    const CodecSpec s = spec(text);
    for (const std::size_t count : kLengths) {
      const Floats numbers = odd(count, count);
      const Bytes wanted = encoded(s, numbers, {.stream = 42, .level = Level::kPortable});
      Floats sum = normal(count, 3);
      decode(s, wanted, sum, Then::kAdd, Level::kPortable);
      for (int level = 1; level <= static_cast<int>(best_level()); ++level) {
        const auto at = static_cast<Level>(level);
        EXPECT_EQ(encoded(s, numbers, {.stream = 42, .level = at}), wanted)
            << text << " of " << count << " at " << name_of(at);
        Floats other = normal(count, 3);
        decode(s, wanted, other, Then::kAdd, at);
        EXPECT_EQ(std::memcmp(other.data(), sum.data(), count * sizeof(float)), 0)
            << text << " of " << count << " at " << name_of(at);
      }
    }
  }
}

TEST(Codec, AddingAndTakingAwayAreDecodingAndArithmetic) {
  for (const std::string_view text : kSpecs) {
    const CodecSpec s = spec(text);
    const Floats numbers = normal(3000);
    const Bytes bytes = encoded(s, numbers, {.stream = 1});
    const Floats alone = decoded(s, bytes, numbers.size());
    const Floats base = normal(3000, 9);
    Floats sum = base;
    Floats rest = base;
    decode(s, bytes, sum, Then::kAdd);
    decode(s, bytes, rest, Then::kSubtract);
    for (std::size_t i = 0; i < base.size(); ++i) {
      ASSERT_EQ(sum[i], base[i] + alone[i]) << text;
      ASSERT_EQ(rest[i], base[i] - alone[i]) << text;
    }
  }
}

TEST(Codec, PayloadsMayLieAnywhere) {
  for (const std::string_view text : kSpecs) {
    const CodecSpec s = spec(text);
    const Floats numbers = normal(300);
    Bytes shifted(encoded_bytes(s, 300) + 1);
    const auto odd_place = std::span(shifted).subspan(1);
    encode(s, numbers, {}, odd_place);
    Floats out(300);
    ASSERT_TRUE(check_encoded(s, 300, odd_place).ok()) << text;
    decode(s, odd_place, out, Then::kAssign);
    EXPECT_EQ(out, there_and_back(s, numbers)) << text;
  }
}

TEST(Codec, WidthsHaveTheirErrors) {
  const Floats numbers = normal(10'000);
  const auto worst = [&](std::string_view text, auto error) {
    const Floats back = there_and_back(spec(text), numbers);
    float most = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) most = std::max(most, error(i, back[i]));
    return most;
  };
  const auto relative = [&](std::size_t i, float y) { return size_of(y / numbers[i] - 1); };
  EXPECT_LE(worst("bf16", relative), 0x1p-8F);
  EXPECT_LE(
      worst("fp16", [&](std::size_t i,
                        float y) { return size_of(numbers[i]) < 1e-4F ? 0 : relative(i, y); }),
      0x1p-11F);
  EXPECT_LE(worst("int8",
                  [&](std::size_t i, float y) {
                    const std::size_t first = i / kBlock * kBlock;
                    const std::size_t count = std::min(kBlock, numbers.size() - first);
                    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(first);
                    const Floats block(begin, begin + static_cast<std::ptrdiff_t>(count));
                    return size_of(y - numbers[i]) / largest(block) * 254;
                  }),
            1.001F);
}

TEST(Codec, OnebitKeepsSignsAndTheirMeanSize) {
  const Floats numbers = {1, -2, 0, -3, 4};
  EXPECT_EQ(there_and_back(spec("onebit"), numbers), (Floats{1, -1, 1, -1, 1}));
  EXPECT_EQ(there_and_back(spec("onebit,scaling=1"), numbers), (Floats{2, -2, 2, -2, 2}));
}

TEST(Codec, TopkKeepsTheLargestAndOfEqualsTheFirst) {
  EXPECT_EQ(there_and_back(spec("topk,k=3"), {1, -5, 2, 0, 5, 2}), (Floats{0, -5, 2, 0, 5, 0}));
  EXPECT_EQ(there_and_back(spec("topk,k=2"), Floats(5, 1.0F)), (Floats{1, 1, 0, 0, 0}));
  EXPECT_EQ(there_and_back(spec("topk,k=9"), {0, 0, 3}), (Floats{0, 0, 3}));
  for (const std::size_t count : kLengths) {
    const Floats numbers = odd(count, count);
    const CodecSpec s = spec("topk,k=0.1");
    const std::size_t kept = kept_of(s, count);
    Floats sorted = numbers;
    std::ranges::sort(sorted, [](float a, float b) { return size_of(a) > size_of(b); });
    Floats back = there_and_back(s, numbers);
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(back[i] == 0 || back[i] == numbers[i]);
    std::ranges::sort(back, [](float a, float b) { return size_of(a) > size_of(b); });
    for (std::size_t i = 0; i < kept; ++i) EXPECT_EQ(size_of(back[i]), size_of(sorted[i]));
  }
}

TEST(Codec, KIsAFractionBelowOneElseACount) {
  EXPECT_EQ(kept_of(spec("topk,k=0.01"), 1000), 10U);
  EXPECT_EQ(kept_of(spec("topk,k=0.01"), 3), 1U);
  EXPECT_EQ(kept_of(spec("topk,k=10"), 1000), 10U);
  EXPECT_EQ(kept_of(spec("topk,k=10"), 3), 3U);
  EXPECT_EQ(kept_of(spec("topk,k=1e12"), 3), 3U);
  EXPECT_EQ(kept_of(spec("topk,k=1"), 0), 0U);
}

// With more than half of the elements, places and numbers take more bytes than all numbers.
TEST(Codec, SendsPlainWhenEncodingWouldGrow) {
  const Floats numbers = odd(10, 1);
  for (const std::string_view text :
       {"topk,k=6", "topk,k=0.6", "topk,k=99", "randomk,k=9", "randomk,k=0.9", "randomk,k=99"}) {
    EXPECT_TRUE(is_plain(spec(text), 10)) << text;
    const Bytes bytes = encoded(spec(text), numbers, {.stream = 3, .unbiased = true});
    ASSERT_EQ(bytes.size(), 40U) << text;
    EXPECT_EQ(std::memcmp(bytes.data(), numbers.data(), 40), 0) << text;
    EXPECT_TRUE(check_encoded(spec(text), 10, Bytes(40, std::byte{0xff})).ok())
        << text << ": there are no places to be checked";
  }
  EXPECT_FALSE(is_plain(spec("topk,k=5"), 10)) << "as many bytes";
  EXPECT_FALSE(is_plain(spec("randomk,k=8"), 10));
  EXPECT_FALSE(is_plain(spec("onebit"), 1)) << "of these a byte more, and of one element only";
  for (const std::string_view text : kSpecs) {
    for (const std::size_t count : kLengths) {
      EXPECT_LE(encoded_bytes(spec(text), count), count * 4 + 1) << text << " of " << count;
    }
  }
}

TEST(Codec, NoElementsAreNoTrouble) {
  for (const std::string_view text : kSpecs) {
    EXPECT_EQ(there_and_back(spec(text), Floats()), Floats()) << text;
  }
}

/// The mean of decoded values over many streams is within five standard errors of the input.
void expect_fair(std::string_view text, bool unbiased) {
  constexpr int kStreams = 4000;
  const CodecSpec s = spec(text);
  const Floats numbers = {0.9F, -0.4F, 0.11F, -0.003F, 0.0F, 0.25F, -1.0F, 0.6F, 0.05F, -0.77F};
  std::vector<double> sums(numbers.size());
  std::vector<double> squares(numbers.size());
  for (int i = 0; i < kStreams; ++i) {
    const Encoding how{.stream = stream_of(s.seed, 1, 2, static_cast<std::uint64_t>(i), 0),
                       .unbiased = unbiased};
    const Floats back = there_and_back(s, numbers, how);
    for (std::size_t j = 0; j < back.size(); ++j) {
      const double y = back[j];
      sums[j] += y;
      squares[j] += y * y;
    }
  }
  for (std::size_t j = 0; j < numbers.size(); ++j) {
    const double mean = sums[j] / kStreams;
    const double variance = std::max(0.0, squares[j] / kStreams - mean * mean);
    EXPECT_NEAR(mean, numbers[j], 5 * std::sqrt(variance / kStreams) + 1e-6) << text << " " << j;
  }
}

TEST(Codec, ChanceIsFair) {
  for (const std::string_view text :
       {"dithering,k=1", "dithering,k=4", "dithering,k=100", "dithering,k=3,normalize=l2",
        "dithering,k=3,partition=natural", "dithering,k=20,partition=natural,normalize=l2"}) {
    expect_fair(text, false);
  }
  expect_fair("randomk,k=3", true);
  expect_fair("randomk,k=0.5", true);
}

TEST(Codec, DitheringStaysWithinOneLevel) {
  const Floats numbers = normal(5000);
  const float norm = largest(numbers);
  const Floats linear = there_and_back(spec("dithering,k=10"), numbers, {.stream = 5});
  const Floats natural =
      there_and_back(spec("dithering,k=10,partition=natural"), numbers, {.stream = 5});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_LE(size_of(linear[i] - numbers[i]), norm / 10 * 1.0001F);
    const float step = std::max(size_of(numbers[i]), norm * 0x1p-9F);
    EXPECT_LE(size_of(natural[i] - numbers[i]), step * 1.0001F);
  }
}

TEST(Codec, SameStreamSameBytesOtherStreamOthers) {
  const Floats numbers = normal(1000);
  for (const std::string_view text : {"randomk,k=0.1", "dithering,k=4"}) {
    const CodecSpec s = spec(text);
    EXPECT_EQ(encoded(s, numbers, {.stream = 1}), encoded(s, numbers, {.stream = 1}));
    EXPECT_NE(there_and_back(s, numbers, {.stream = 1}), there_and_back(s, numbers, {.stream = 2}));
  }
  EXPECT_NE(stream_of(0, 1, 2, 3, 4), stream_of(0, 1, 2, 4, 3));
  EXPECT_EQ(stream_of(7, 1, 2, 3, 4), stream_of(7, 1, 2, 3, 4));
}

TEST(Codec, NonFiniteInputStaysNonFinite) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Floats numbers = normal(600);
    numbers[300] = bad;
    for (const std::string_view text :
         {"fp16", "bf16", "int8", "onebit", "onebit,scaling=1", "topk,k=1", "dithering,k=4",
          "dithering,k=4,partition=natural", "dithering,k=4,normalize=l2"}) {
      EXPECT_FALSE(std::isfinite(there_and_back(spec(text), numbers)[300])) << text;
    }
    const Floats some = there_and_back(spec("randomk,k=3"), numbers);
    EXPECT_EQ(std::ranges::count_if(some, [](float x) { return std::isnan(x); }), 3);
  }
}

TEST(Codec, LengthsFromOutsideAreChecked) {
  for (const std::string_view text : kSpecs) {
    const CodecSpec s = spec(text);
    const std::size_t right = encoded_bytes(s, 100);
    for (const std::size_t wrong : {std::size_t{0}, right - 1, right + 1, right * 2}) {
      const Status status = check_encoded(s, 100, Bytes(wrong));
      EXPECT_EQ(status.code(), Code::kMalformed) << text << " " << wrong;
    }
  }
}

TEST(Codec, PlacesFromOutsideAreChecked) {
  const CodecSpec s = spec("topk,k=3");
  const auto status = [&](std::array<std::uint32_t, 3> places) {
    Bytes bytes(encoded_bytes(s, 10));
    std::memcpy(bytes.data(), places.data(), sizeof places);
    return check_encoded(s, 10, bytes);
  };
  EXPECT_TRUE(status({0, 5, 9}).ok());
  EXPECT_THAT(status({0, 5, 10}).cause(), testing::HasSubstr("place 10 of 10 elements"));
  EXPECT_FALSE(status({0, 5, 0xffffffff}).ok());
  EXPECT_FALSE(status({5, 5, 9}).ok());
  EXPECT_FALSE(status({5, 4, 9}).ok());
  EXPECT_FALSE(status({0xffffffff, 0, 1}).ok());
}

TEST(Codec, AnyBitsOfTheRightLengthAreSomeNumbers) {
  constexpr std::size_t kCount = 500;
  constexpr std::size_t kGuards = 16;  // At each end.
  constexpr float kUntouched = -12345.0F;
  std::mt19937_64 random(4);
  for (const std::string_view text : kSpecs) {
    SCOPED_TRACE(text);
    const CodecSpec s = spec(text);
    Bytes bytes(encoded_bytes(s, kCount));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    if (s.codec == Codec::kTopk) {  // Its places are not arbitrary: they must ascend.
      const std::size_t places = bytes.size() / (sizeof(std::uint32_t) + sizeof(float));
      for (std::size_t i = 0; i < places; ++i) {
        const auto place = static_cast<std::uint32_t>(i * kCount / places);
        std::memcpy(&bytes[i * sizeof place], &place, sizeof place);
      }
    }
    ASSERT_TRUE(check_encoded(s, kCount, bytes).ok());
    const auto decode_into = [&](float first, Then then) {
      Floats all(kCount + 2 * kGuards, kUntouched);
      const auto out = std::span(all).subspan(kGuards, kCount);
      std::ranges::fill(out, first);
      decode(s, bytes, out, then);
      EXPECT_EQ(std::count(all.begin(), all.begin() + kGuards, kUntouched), kGuards);
      EXPECT_EQ(std::count(all.end() - kGuards, all.end(), kUntouched), kGuards);
      return Floats(out.begin(), out.end());
    };
    const Floats assigned = decode_into(kUntouched, Then::kAssign);
    const Floats added = decode_into(0, Then::kAdd);
    for (std::size_t i = 0; i < kCount; ++i) {
      const bool same =
          assigned[i] == added[i] || (assigned[i] != assigned[i] && added[i] != added[i]);
      EXPECT_TRUE(same && assigned[i] != kUntouched)
          << i << ": " << assigned[i] << ", " << added[i];
    }
  }
}

TEST(Codec, OverflowingNormDecodesFinite) {
  const Floats numbers(1000, 3e38F);
  for (const std::string_view text :
       {"dithering,k=5,normalize=l2", "dithering,k=127,partition=natural,normalize=l2"}) {
    double sum = 0;
    for (const float number : there_and_back(spec(text), numbers)) {
      ASSERT_TRUE(std::isfinite(number)) << text;
      sum += static_cast<double>(number) / 1000;
    }
    EXPECT_NEAR(sum, 3e38, 0.1e38) << text << ", on average";
  }
}

}  // namespace
}  // namespace stretto::ops
