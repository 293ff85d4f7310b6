// SPDX-License-Identifier: Apache-2.0
// Minimum, maximum, product and bitwise operations of two arrays against a plain reference: every
// level must give its bits for any values, length and alignment. (Sums: sum_test.cc.)
#include <gtest/gtest.h>

#include <array>
#include <concepts>

#include "ops/sum.h"
#include "tests/ops/reference.h"

namespace stretto::ops {
namespace {

using Bytes = std::vector<std::byte>;

constexpr ReduceOp kReductions[] = {ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct,
                                    ReduceOp::kAnd, ReduceOp::kOr,  ReduceOp::kXor};

std::vector<ReduceOp> reductions_of(Dtype dtype) {
  std::vector<ReduceOp> defined(std::begin(kReductions), std::end(kReductions));
  std::erase_if(defined, [dtype](ReduceOp op) { return !is_defined(op, dtype); });
  return defined;
}

/// Integers wrap around: computed in the unsigned type, which has no undefined overflow.
template <std::integral T>
T product_of(T x, T y) {
  return static_cast<T>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
}
template <std::floating_point T>
T product_of(T x, T y) {
  return x * y;
}

/// Whether x is less than y. A NaN is before all numbers, for minimum and maximum alike.
template <typename T>
bool is_less(T x, T y) {
  if constexpr (std::floating_point<T>) {
    if (x == 0 && y == 0) return std::signbit(x) && !std::signbit(y);
  }
  return x < y;
}

template <typename T>
T reduced(ReduceOp reduction, T x, T y) {
  if (reduction == ReduceOp::kProduct) return product_of(x, y);
  if constexpr (std::integral<T>) {
    if (reduction == ReduceOp::kAnd) return static_cast<T>(x & y);
    if (reduction == ReduceOp::kOr) return static_cast<T>(x | y);
    if (reduction == ReduceOp::kXor) return static_cast<T>(x ^ y);
  }
  if constexpr (std::floating_point<T>) {
    if (std::isnan(x)) return x;
    if (std::isnan(y)) return y;
  }
  const bool first = reduction == ReduceOp::kMin ? is_less(x, y) : is_less(y, x);
  return first ? x : y;
}

std::uint16_t reduced_small(Dtype dtype, ReduceOp reduction, std::uint16_t x, std::uint16_t y) {
  const SmallFloat& type = small_float(dtype);
  const auto result = reduced(reduction, static_cast<float>(type.value_of(x)),
                              static_cast<float>(type.value_of(y)));
  return type.nearest_to(static_cast<double>(result));
}

template <typename T>
Bytes reference_of(ReduceOp reduction, const Bytes& a, const Bytes& b) {
  std::vector<T> out;
  for (std::size_t i = 0; i < a.size() / sizeof(T); ++i) {
    out.push_back(reduced(reduction, element_at<T>(a, i), element_at<T>(b, i)));
  }
  return bytes_of_all(out);
}

Bytes reference(Dtype dtype, ReduceOp reduction, const Bytes& a, const Bytes& b) {
  switch (dtype) {
    case Dtype::kF32:
      return reference_of<float>(reduction, a, b);
    case Dtype::kF64:
      return reference_of<double>(reduction, a, b);
    case Dtype::kI8:
      return reference_of<std::int8_t>(reduction, a, b);
    case Dtype::kU8:
      return reference_of<std::uint8_t>(reduction, a, b);
    case Dtype::kI32:
      return reference_of<std::int32_t>(reduction, a, b);
    case Dtype::kI64:
      return reference_of<std::int64_t>(reduction, a, b);
    default:
      break;
  }
  std::vector<std::uint16_t> out;
  for (std::size_t i = 0; i < a.size() / 2; ++i) {
    out.push_back(reduced_small(dtype, reduction, element_at<std::uint16_t>(a, i),
                                element_at<std::uint16_t>(b, i)));
  }
  return bytes_of_all(out);
}

/// Zeros, ones, extremes, infinities and NaN, and their neighbours, of either sign.
Bytes special(Dtype dtype) {
  if (dtype >= Dtype::kI8) {
    Bytes bytes;
    for (const int top : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      for (const int rest : {0x00, 0x01, 0xff}) {
        for (std::size_t i = 1; i < bytes_of(dtype); ++i)
          bytes.push_back(static_cast<std::byte>(rest));
        bytes.push_back(static_cast<std::byte>(top));
      }
    }
    return bytes;
  }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> numbers;
  for (const double number : {0.0, 1.0, 1.5, 3.0, 0x1p-14, 0x1p-24, 200.0, 60000.0, kInf, kNan}) {
    numbers.push_back(number);
    numbers.push_back(-number);
  }
  return elements_of(dtype, numbers);
}

/// All pairs of elements of `a`, as two arrays.
std::array<Bytes, 2> pairs_of(Dtype dtype, const Bytes& a) {
  const std::size_t size = bytes_of(dtype);
  std::array<Bytes, 2> pairs;
  for (std::size_t i = 0; i < a.size(); i += size) {
    for (std::size_t j = 0; j < a.size(); j += size) {
      pairs[0].insert(pairs[0].end(), &a[i], &a[i] + size);
      pairs[1].insert(pairs[1].end(), &a[j], &a[j] + size);
    }
  }
  return pairs;
}

class ReductionTest : public testing::TestWithParam<Dtype> {
 protected:
  static void expect_reduced(const Bytes& a, const Bytes& b) {
    for (const ReduceOp reduction : reductions_of(GetParam())) {
      const Bytes expected = reference(GetParam(), reduction, a, b);
      for (const Level level : all_levels()) {
        Bytes target = a;
        reduce_into(level, reduction, GetParam(), target, b);
        EXPECT_EQ(first_difference(GetParam(), expected, target), kNone)
            << name_of(level) << ", " << name_of(reduction);
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Dtypes, ReductionTest, testing::ValuesIn(kAllDtypes),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST_P(ReductionTest, GivesTheReferencesBitsForAnyBits) {
  constexpr std::size_t kCount = 1 << 14;
  const std::size_t bytes = kCount * bytes_of(GetParam());
  expect_reduced(random_bytes(bytes, 1), random_bytes(bytes, 2));
}

TEST_P(ReductionTest, GivesTheReferencesBitsForSpecialValues) {
  const auto [a, b] = pairs_of(GetParam(), special(GetParam()));
  expect_reduced(a, b);
}

TEST_P(ReductionTest, TakesAnyLengthAndAlignment) {
  constexpr std::size_t kMaxCount = 70;
  const std::size_t size = bytes_of(GetParam());
  const auto [all_a, all_b] = pairs_of(GetParam(), special(GetParam()));
  for (std::size_t count = 0; count <= kMaxCount; ++count) {
    const auto length = static_cast<std::ptrdiff_t>(count * size);
    const Bytes a(all_a.begin(), all_a.begin() + length);
    const Bytes b(all_b.begin(), all_b.begin() + length);
    for (const ReduceOp reduction : reductions_of(GetParam())) {
      const Bytes expected = reference(GetParam(), reduction, a, b);
      Bytes around(1 + a.size() + 64, std::byte{0xa5});
      Bytes source(3, std::byte{});
      std::copy(a.begin(), a.end(), around.begin() + 1);
      source.insert(source.end(), b.begin(), b.end());
      reduce_into(reduction, GetParam(), std::span(around).subspan(1, a.size()),
                  std::span(source).subspan(3));
      const Bytes found(around.begin() + 1, around.begin() + 1 + length);
      EXPECT_EQ(first_difference(GetParam(), expected, found), kNone) << count;
      EXPECT_EQ(around.front(), std::byte{0xa5});
      EXPECT_EQ(std::count(around.begin() + 1 + length, around.end(), std::byte{0xa5}), 64);
    }
  }
}

TEST_P(ReductionTest, OfSumIsTheSum) {
  const Bytes a = random_bytes(40 * bytes_of(GetParam()), 3);
  const Bytes b = random_bytes(40 * bytes_of(GetParam()), 4);
  Bytes expected = a;
  Bytes found = a;
  sum_into(GetParam(), expected, b);
  reduce_into(ReduceOp::kSum, GetParam(), found, b);
  EXPECT_EQ(first_difference(GetParam(), expected, found), kNone);
}

TEST_P(ReductionTest, OfAverageIsTheSumDividedInTheEnd) {
  const Bytes a = random_bytes(40 * bytes_of(GetParam()), 5);
  Bytes expected = a;
  Bytes found = a;
  for (const std::uint64_t seed : {6U, 7U}) {
    const Bytes b = random_bytes(a.size(), seed);
    sum_into(GetParam(), expected, b);
    reduce_into(ReduceOp::kAverage, GetParam(), found, b);
  }
  finish(ReduceOp::kSum, GetParam(), expected, 3);
  EXPECT_EQ(first_difference(GetParam(), expected, found), kNone) << "a sum is not divided";
  divide(GetParam(), expected, 3);
  finish(ReduceOp::kAverage, GetParam(), found, 3);
  EXPECT_EQ(first_difference(GetParam(), expected, found), kNone);
}

TEST_P(ReductionTest, OfBitsIsOfIntegersOnly) {
  const bool integer = GetParam() >= Dtype::kI8;
  for (const ReduceOp op : {ReduceOp::kAnd, ReduceOp::kOr, ReduceOp::kXor}) {
    EXPECT_EQ(is_defined(op, GetParam()), integer) << name_of(op);
  }
  for (const ReduceOp op :
       {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct, ReduceOp::kAverage}) {
    EXPECT_TRUE(is_defined(op, GetParam())) << name_of(op);
  }
}

// The reference could have the same error as a kernel: these values were computed by hand.
TEST(Reduction, OfHalvesIsIeee) {
  using Halves = std::vector<std::uint16_t>;
  const Halves a = {0x3c00, 0xbc00, 0x8000, 0x0000, 0x7e00, 0x4000, 0xfc00};
  const Halves b = {0x4000, 0xc000, 0x0000, 0x8000, 0x3c00, 0x4200, 0x7c00};
  const auto of = [&](ReduceOp reduction) {
    Bytes target = bytes_of_all(a);
    reduce_into(reduction, Dtype::kF16, target, bytes_of_all(b));
    Halves out;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto bits = element_at<std::uint16_t>(target, i);
      out.push_back((bits & 0x7fff) > 0x7c00 ? 0x7e00 : bits);
    }
    return out;
  };
  // 1 and 2, -1 and -2, -0 and 0, 0 and -0, NaN and 1, 2 and 3, -Inf and Inf.
  EXPECT_EQ(of(ReduceOp::kMin), (Halves{0x3c00, 0xc000, 0x8000, 0x8000, 0x7e00, 0x4000, 0xfc00}));
  EXPECT_EQ(of(ReduceOp::kMax), (Halves{0x4000, 0xbc00, 0x0000, 0x0000, 0x7e00, 0x4200, 0x7c00}));
  EXPECT_EQ(of(ReduceOp::kProduct),
            (Halves{0x4000, 0x4000, 0x8000, 0x8000, 0x7e00, 0x4600, 0xfc00}));
}

TEST(Reduction, OfBytesKnowsTheirSign) {
  Bytes least = bytes_of_all(std::vector<std::uint8_t>{1, 200});
  Bytes signed_least = least;
  const Bytes other = bytes_of_all(std::vector<std::uint8_t>{255, 3});
  reduce_into(ReduceOp::kMin, Dtype::kU8, least, other);
  reduce_into(ReduceOp::kMin, Dtype::kI8, signed_least, other);
  EXPECT_EQ(least, bytes_of_all(std::vector<std::uint8_t>{1, 3}));
  EXPECT_EQ(signed_least, bytes_of_all(std::vector<std::uint8_t>{255, 200}));
}

TEST(Reduction, HasAName) {
  EXPECT_EQ(name_of(ReduceOp::kSum), "sum");
  EXPECT_EQ(name_of(ReduceOp::kProduct), "product");
  EXPECT_EQ(name_of(ReduceOp::kXor), "xor");
  EXPECT_EQ(name_of(ReduceOp::kAverage), "average");
}

TEST(ReductionDeathTest, RefusesSizesThatDoNotFit) {
  Bytes target(8);
  EXPECT_DEATH(reduce_into(ReduceOp::kMin, Dtype::kF32, target, Bytes(4)), "stretto bug");
  EXPECT_DEATH(reduce_into(ReduceOp::kAnd, Dtype::kF32, target, Bytes(8)), "stretto bug");
  EXPECT_DEATH(reduce_into(ReduceOp{9}, Dtype::kF32, target, Bytes(8)), "stretto bug");
}

}  // namespace
}  // namespace stretto::ops
