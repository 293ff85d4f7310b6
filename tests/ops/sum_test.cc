// SPDX-License-Identifier: Apache-2.0
// Sums and divisions against a plain reference: every level must give its bits for any values, any
// length and any alignment.
#include "ops/sum.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "tests/ops/reference.h"

namespace stretto::ops {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T, typename Add>
void reference_sum_of(std::span<std::byte> out, std::span<const std::byte> a,
                      std::span<const std::byte> b, Add add) {
  for (std::size_t i = 0; i < out.size() / sizeof(T); ++i) {
    const T sum = add(element_at<T>(a, i), element_at<T>(b, i));
    std::memcpy(&out[i * sizeof(T)], &sum, sizeof(T));
  }
}

Bytes reference_sum(Dtype dtype, std::span<const std::byte> a, std::span<const std::byte> b) {
  Bytes out(a.size());
  const auto add = [](auto x, auto y) { return static_cast<decltype(x)>(x + y); };
  const auto add_small = [dtype](std::uint16_t x, std::uint16_t y) {
    const SmallFloat& type = small_float(dtype);
    const auto wide_x = static_cast<float>(type.value_of(x));
    const auto wide_y = static_cast<float>(type.value_of(y));
    return type.nearest_to(static_cast<double>(wide_x + wide_y));
  };
  if (dtype == Dtype::kF32) reference_sum_of<float>(out, a, b, add);
  if (dtype == Dtype::kF64) reference_sum_of<double>(out, a, b, add);
  if (dtype == Dtype::kF16 || dtype == Dtype::kBf16) {
    reference_sum_of<std::uint16_t>(out, a, b, add_small);
  }
  if (dtype == Dtype::kI8 || dtype == Dtype::kU8) reference_sum_of<std::uint8_t>(out, a, b, add);
  if (dtype == Dtype::kI32) reference_sum_of<std::uint32_t>(out, a, b, add);
  if (dtype == Dtype::kI64) reference_sum_of<std::uint64_t>(out, a, b, add);
  return out;
}

/// Ordinary elements, which can be compared as bytes.
Bytes ordinary_elements(Dtype dtype, std::size_t count, std::uint64_t seed) {
  if (dtype >= Dtype::kI8) return random_bytes(count * bytes_of(dtype), seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> numbers(count);
  for (double& number : numbers) number = normal(random);
  return elements_of(dtype, numbers);
}

/// Bits with special arithmetic, for a type whose Inf (or, for integers, any number) has these
/// bits.
template <typename T>
std::vector<T> special_bits(T infinity, T least_normal) {
  constexpr T kSign = static_cast<T>(T{1} << (sizeof(T) * 8 - 1));
  const T magnitudes[] = {0,
                          1,
                          2,
                          3,
                          static_cast<T>(least_normal - 1),
                          least_normal,
                          static_cast<T>(least_normal + 1),
                          static_cast<T>(infinity / 2),
                          static_cast<T>(infinity / 2 + 1),
                          static_cast<T>(infinity - least_normal),
                          static_cast<T>(infinity - 1),
                          infinity,
                          static_cast<T>(infinity + 1),
                          static_cast<T>(kSign - least_normal / 2),
                          static_cast<T>(kSign - 1)};
  std::vector<T> bits;
  for (const T magnitude : magnitudes) {
    bits.push_back(magnitude);
    bits.push_back(static_cast<T>(magnitude | kSign));
  }
  return bits;
}

/// Every pair of an element of `a` and one of `b`, as two arrays of equal length.
template <typename T>
std::array<Bytes, 2> all_pairs(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> left;
  std::vector<T> right;
  for (const T x : a) {
    left.insert(left.end(), b.size(), x);
    right.insert(right.end(), b.begin(), b.end());
  }
  return {bytes_of_all(left), bytes_of_all(right)};
}

std::vector<std::uint16_t> all_16_bit() {
  std::vector<std::uint16_t> all;
  for (unsigned int bits = 0; bits <= 0xffff; ++bits)
    all.push_back(static_cast<std::uint16_t>(bits));
  return all;
}

std::array<Bytes, 2> special_pairs(Dtype dtype) {
  const auto pairs = [](const auto& bits) { return all_pairs(bits, bits); };
  using enum Dtype;
  if (dtype == kF16) return all_pairs(special_bits<std::uint16_t>(0x7c00, 0x0400), all_16_bit());
  if (dtype == kBf16) return all_pairs(special_bits<std::uint16_t>(0x7f80, 0x0080), all_16_bit());
  if (dtype == kI8 || dtype == kU8) return pairs(special_bits<std::uint8_t>(100, 10));
  if (dtype == kF32 || dtype == kI32) {
    return pairs(special_bits<std::uint32_t>(0x7f800000, 0x00800000));
  }
  return pairs(special_bits<std::uint64_t>(0x7ff0000000000000, 0x0010000000000000));
}

class SumTest : public testing::TestWithParam<Dtype> {};

INSTANTIATE_TEST_SUITE_P(Dtypes, SumTest, testing::ValuesIn(kAllDtypes),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

void expect_sums(Dtype dtype, const Bytes& a, const Bytes& b) {
  const Bytes expected = reference_sum(dtype, a, b);
  for (const Level level : all_levels()) {
    Bytes target = a;
    sum_into(level, dtype, target, b);
    EXPECT_EQ(first_difference(dtype, expected, target), kNone) << name_of(level);
    Bytes out(a.size());
    sum_to(level, dtype, out, a, b);
    EXPECT_EQ(first_difference(dtype, expected, out), kNone) << name_of(level);
  }
}

TEST_P(SumTest, GivesTheReferencesBitsForAnyBits) {
  constexpr std::size_t kCount = 1 << 17;
  const std::size_t bytes = kCount * bytes_of(GetParam());
  expect_sums(GetParam(), random_bytes(bytes, 1), random_bytes(bytes, 2));
}

TEST_P(SumTest, GivesTheReferencesBitsForSpecialValues) {
  const auto [a, b] = special_pairs(GetParam());
  expect_sums(GetParam(), a, b);
}

/// Elements between bytes that must stay untouched. With 0 bytes `after`, the memory ends with the
/// elements, so that AddressSanitizer detects reads past the end.
struct Guarded {
  Guarded(std::span<const std::byte> elements, std::size_t before, std::size_t after)
      : bytes(before + elements.size() + after, std::byte{0xa5}),
        begin(before),
        length(elements.size()) {
    if (length != 0) std::memcpy(&bytes[begin], elements.data(), length);
  }
  std::span<std::byte> elements() { return std::span(bytes).subspan(begin, length); }
  bool same_as(const Guarded& other) const {
    return bytes.size() == other.bytes.size() &&
           std::memcmp(bytes.data(), other.bytes.data(), bytes.size()) == 0;
  }

  Bytes bytes;
  std::size_t begin;
  std::size_t length;
};

TEST_P(SumTest, TakesAnyLengthAndAlignment) {
  constexpr std::size_t kMaxCount = 130;
  constexpr std::size_t kOffsets = 8;
  constexpr std::size_t kGuardBytes = 64;
  const Dtype dtype = GetParam();
  const Bytes a = ordinary_elements(dtype, kMaxCount, 3);
  const Bytes b = ordinary_elements(dtype, kMaxCount, 4);
  const Bytes zeros(a.size());
  const Bytes sum = reference_sum(dtype, a, b);
  const auto check = [&](Level level, std::size_t bytes, std::size_t to, std::size_t from) {
    const auto first = [bytes](const Bytes& all) { return std::span(all).first(bytes); };
    const Guarded expected(first(sum), to, kGuardBytes);
    Guarded target(first(a), to, kGuardBytes);
    Guarded source(first(b), from, 0);
    sum_into(level, dtype, target.elements(), source.elements());
    EXPECT_TRUE(target.same_as(expected)) << bytes << " bytes, offsets " << to << ", " << from;
    Guarded out(first(zeros), to, kGuardBytes);
    Guarded left(first(a), from, 0);
    sum_to(level, dtype, out.elements(), left.elements(), source.elements());
    EXPECT_TRUE(out.same_as(expected)) << bytes << " bytes, offsets " << to << ", " << from;
  };
  for (const Level level : all_levels()) {
    for (std::size_t count = 0; count <= kMaxCount; ++count) {
      for (std::size_t offsets = 0; offsets < kOffsets * kOffsets; ++offsets) {
        check(level, count * bytes_of(dtype), offsets / kOffsets, offsets % kOffsets);
      }
    }
  }
}

TEST_P(SumTest, AddsAnArrayToItself) {
  const Bytes a = ordinary_elements(GetParam(), 77, 5);
  Bytes target = a;
  sum_into(GetParam(), target, target);
  EXPECT_EQ(target, reference_sum(GetParam(), a, a));
}

TEST_P(SumTest, WhereNothingIsAddedNothingChanges) {
  const Bytes before = ordinary_elements(GetParam(), 64, 8);
  const Bytes source = ordinary_elements(GetParam(), 64, 9);
  for (const Level level : all_levels()) {
    Bytes around = before;
    const auto nothing = std::span(around).subspan(around.size() / 2, 0);
    sum_into(level, GetParam(), nothing, std::span(source).first(0));
    sum_to(level, GetParam(), nothing, std::span(source).first(0), std::span(source).first(0));
    sum_into(level, GetParam(), {}, {});
    EXPECT_EQ(around, before);
  }
}

TEST_P(SumTest, WithoutALevelUsesTheBest) {
  const Bytes a = ordinary_elements(GetParam(), 41, 6);
  const Bytes b = ordinary_elements(GetParam(), 41, 7);
  Bytes out(a.size());
  sum_to(GetParam(), out, a, b);
  EXPECT_EQ(out, reference_sum(GetParam(), a, b));
}

struct Golden {
  std::uint16_t a, b, sum;
};

void expect_golden(Dtype dtype, std::span<const Golden> rows) {
  for (const Level level : all_levels()) {
    for (const Golden& row : rows) {
      Bytes target = bytes_of_all(std::vector{row.a});
      sum_into(level, dtype, target, bytes_of_all(std::vector{row.b}));
      EXPECT_EQ(element_at<std::uint16_t>(target, 0), row.sum)
          << name_of(level) << ' ' << std::hex << row.a << " + " << row.b;
    }
  }
}

// The reference could share a kernel's error: these rows were computed by hand.
TEST(SumOfHalves, IsIeee) {
  constexpr Golden kRows[] = {
      {0x3c00, 0x3c00, 0x4000},  // 1 + 1 = 2.
      {0x3c00, 0x1000, 0x3c00},  // 1 + 2^-11: a tie, down to even.
      {0x3c01, 0x1000, 0x3c02},  // And up to even.
      {0x3c00, 0x1001, 0x3c01},  // A little over the tie.
      {0x7bff, 0x4bff, 0x7bff},  // 65504 + 15.99.
      {0x7bff, 0x4c00, 0x7c00},  // 65504 + 16 overflows.
      {0xfbff, 0xcc00, 0xfc00},  // So does its negative.
      {0x0001, 0x0001, 0x0002},  // Subnormals,
      {0x03ff, 0x0001, 0x0400},  // one that becomes normal,
      {0x0400, 0x8001, 0x03ff},  // and one that comes from normal.
      {0x8000, 0x8000, 0x8000},  // -0 + -0 = -0,
      {0x8000, 0x0000, 0x0000},  // -0 + 0 = 0,
      {0x3c00, 0xbc00, 0x0000},  // 1 - 1 = 0.
      {0x7c00, 0xfbff, 0x7c00},  // Inf stays.
  };
  expect_golden(Dtype::kF16, kRows);
}

TEST(SumOfBf16, RoundsToNearestEven) {
  constexpr Golden kRows[] = {
      {0x3f80, 0x3f80, 0x4000},  // 1 + 1 = 2.
      {0x3f80, 0x3b80, 0x3f80},  // 1 + 2^-8: a tie, down to even.
      {0x3f81, 0x3b80, 0x3f82},  // And up to even.
      {0x3f80, 0x3b81, 0x3f81},  // A little over the tie.
      {0x7f7f, 0x7b00, 0x7f80},  // The largest and half its last place overflow.
      {0x7f7f, 0x7aff, 0x7f7f},  // A little less does not.
      {0x0001, 0x0001, 0x0002},  // Subnormals,
      {0x007f, 0x0001, 0x0080},  // one that becomes normal.
      {0x8000, 0x8000, 0x8000},  // -0 + -0 = -0.
      {0xff80, 0x7f7f, 0xff80},  // -Inf stays.
  };
  expect_golden(Dtype::kBf16, kRows);
}

TEST(SumOfIntegers, WrapsAround) {
  Bytes target = bytes_of_all(std::vector<std::int8_t>{127, -128, -1});
  sum_into(Dtype::kI8, target, bytes_of_all(std::vector<std::int8_t>{1, -1, 1}));
  EXPECT_EQ(target, bytes_of_all(std::vector<std::int8_t>{-128, 127, 0}));
}

TEST(Level, HasAName) {
  EXPECT_EQ(name_of(Level::kPortable), "portable");
  EXPECT_EQ(name_of(Level::kAvx2), "avx2");
  EXPECT_EQ(name_of(Level::kAvx512), "avx512");
}

TEST(SumDeathTest, RefusesSizesThatDoNotFit) {
  Bytes target(8);
  EXPECT_DEATH(sum_into(Dtype::kF32, target, Bytes(4)), "stretto bug");
  EXPECT_DEATH(sum_into(Dtype::kF32, std::span(target).first(6), Bytes(6)), "stretto bug");
  EXPECT_DEATH(sum_into(Dtype{99}, target, Bytes(8)), "stretto bug");
  EXPECT_DEATH(divide(Dtype::kF32, target, 0), "stretto bug");
}

template <typename T>
std::vector<T> divided(Dtype dtype, const std::vector<T>& values, std::uint32_t divisor) {
  Guarded target(bytes_of_all(values), 3, 0);
  divide(dtype, target.elements(), divisor);
  std::vector<T> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out.push_back(element_at<T>(target.elements(), i));
  }
  return out;
}

TEST(Divide, RoundsIntegersDown) {
  using I8 = std::vector<std::int8_t>;
  using U8 = std::vector<std::uint8_t>;
  using I32 = std::vector<std::int32_t>;
  using I64 = std::vector<std::int64_t>;
  EXPECT_EQ(divided(Dtype::kI8, I8{7, -7, 6, -6, -128, 0}, 3), (I8{2, -3, 2, -2, -43, 0}));
  EXPECT_EQ(divided(Dtype::kI8, I8{127, -128}, 1000), (I8{0, -1}));
  EXPECT_EQ(divided(Dtype::kU8, U8{255, 254, 1}, 2), (U8{127, 127, 0}));
  EXPECT_EQ(divided(Dtype::kU8, U8{255}, 256), (U8{0}));
  EXPECT_EQ(divided(Dtype::kI32, I32{INT32_MIN, INT32_MAX}, 0xffffffff), (I32{-1, 0}));
  EXPECT_EQ(divided(Dtype::kI32, I32{INT32_MIN, -1}, 1), (I32{INT32_MIN, -1}));
  EXPECT_EQ(divided(Dtype::kI64, I64{INT64_MIN, INT64_MAX, -1}, 2),
            (I64{INT64_MIN / 2, INT64_MAX / 2, -1}));
}

TEST(Divide, IsExactInF32AndF64) {
  EXPECT_EQ(divided(Dtype::kF32, std::vector{1.0F, -2.0F, 0.1F}, 3),
            (std::vector{1.0F / 3, -2.0F / 3, 0.1F / 3}));
  EXPECT_EQ(divided(Dtype::kF64, std::vector{1.0, -2.0, 0.1}, 7),
            (std::vector{1.0 / 7, -2.0 / 7, 0.1 / 7}));
}

TEST(Divide, RoundsEverySmallFloatToNearestEven) {
  const std::vector<std::uint16_t> all = all_16_bit();
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16}) {
    std::vector<std::uint16_t> expected;
    for (const std::uint16_t bits : all) {
      const auto number = static_cast<float>(small_float(dtype).value_of(bits));
      expected.push_back(small_float(dtype).nearest_to(static_cast<double>(number / 3)));
    }
    const auto found = divided(dtype, all, 3);
    EXPECT_EQ(first_difference(dtype, bytes_of_all(expected), bytes_of_all(found)), kNone);
  }
}

}  // namespace
}  // namespace stretto::ops
