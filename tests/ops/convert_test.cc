// SPDX-License-Identifier: Apache-2.0
// Conversions between f16, bf16 and f32: every 16-bit value, and every f32 at a rounding boundary,
// at every level.
#include "ops/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "tests/ops/reference.h"

namespace stretto::ops {
namespace {

constexpr std::size_t kAllHalves = 1 << 16;

std::vector<std::uint16_t> all_halves() {
  std::vector<std::uint16_t> halves(kAllHalves);
  std::iota(halves.begin(), halves.end(), std::uint16_t{0});
  return halves;
}

std::vector<float> widened(Level level, Dtype dtype, const std::vector<std::uint16_t>& halves) {
  std::vector<float> numbers(halves.size());
  widen(level, dtype, std::as_bytes(std::span(halves)), numbers);
  return numbers;
}

std::vector<std::uint16_t> narrowed(Level level, Dtype dtype, const std::vector<float>& numbers) {
  std::vector<std::uint16_t> halves(numbers.size());
  narrow(level, dtype, numbers, std::as_writable_bytes(std::span(halves)));
  return halves;
}

class ConvertTest : public testing::TestWithParam<Dtype> {
 protected:
  const SmallFloat& type() const { return small_float(GetParam()); }

  void expect_narrowed(const std::vector<float>& numbers) const {
    for (const Level level : all_levels()) {
      const std::vector<std::uint16_t> found = narrowed(level, GetParam(), numbers);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < numbers.size() && wrong < 5; ++i) {
        const std::uint16_t expected = type().nearest_to(static_cast<double>(numbers[i]));
        if (type().is_nan(expected) ? type().is_nan(found[i]) : found[i] == expected) continue;
        ++wrong;
        ADD_FAILURE() << name_of(level) << ' ' << numbers[i] << " gives " << found[i];
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Dtypes, ConvertTest, testing::Values(Dtype::kF16, Dtype::kBf16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST_P(ConvertTest, WidensEveryValueExactly) {
  for (const Level level : all_levels()) {
    const std::vector<float> numbers = widened(level, GetParam(), all_halves());
    for (std::size_t i = 0; i < kAllHalves; ++i) {
      const double expected = type().value_of(static_cast<std::uint16_t>(i));
      const auto found = static_cast<double>(numbers[i]);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(found)) << name_of(level) << ' ' << i;
      } else {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(expected))
            << name_of(level) << ' ' << i;
      }
    }
  }
}

TEST_P(ConvertTest, BringsEveryValueBack) {
  // A NaN keeps its payload, but becomes quiet.
  const auto quiet = static_cast<std::uint16_t>(GetParam() == Dtype::kF16 ? 0x0200 : 0x0040);
  for (const Level level : all_levels()) {
    const auto back = narrowed(level, GetParam(), widened(level, GetParam(), all_halves()));
    for (std::size_t i = 0; i < kAllHalves; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      EXPECT_EQ(back[i], type().is_nan(bits) ? bits | quiet : bits) << name_of(level);
    }
  }
}

TEST_P(ConvertTest, RoundsToNearestEvenAtEveryBoundary) {
  std::vector<float> numbers;
  for (std::uint16_t bits = 1; bits < type().infinity(); ++bits) {
    const double low = type().value_of(static_cast<std::uint16_t>(bits - 1));
    const double high = type().value_of(bits);
    const auto middle = static_cast<float>(low + (high - low) / 2);
    for (const float number : {static_cast<float>(low), std::nextafter(middle, 0.0F), middle,
                               std::nextafter(middle, HUGE_VALF)}) {
      numbers.push_back(number);
      numbers.push_back(-number);
    }
  }
  // The last boundary is half a unit in the last place above the largest number; Inf begins there.
  const double largest = type().value_of(static_cast<std::uint16_t>(type().infinity() - 1));
  const double before = type().value_of(static_cast<std::uint16_t>(type().infinity() - 2));
  const auto overflow = static_cast<float>(largest + (largest - before) / 2);
  for (const float number : {overflow, std::nextafter(overflow, 0.0F), HUGE_VALF}) {
    numbers.push_back(number);
    numbers.push_back(-number);
  }
  expect_narrowed(numbers);
}

TEST_P(ConvertTest, RoundsNumbersOfEveryKind) {
  constexpr std::uint32_t kStride = 4093;  // A prime, so that all lower bits come up.
  std::vector<float> numbers;
  for (std::uint64_t bits = 0; bits <= 0xffffffff; bits += kStride) {
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  expect_narrowed(numbers);
}

TEST_P(ConvertTest, GivesTheSameBitsAtEveryLevelEvenForNan) {
  std::vector<float> numbers;
  for (std::uint32_t low = 0; low < 0x00800000; low += 4093) {
    numbers.push_back(std::bit_cast<float>(0x7f800001U | low));
    numbers.push_back(std::bit_cast<float>(0xff800001U | low));
  }
  const auto expected = narrowed(Level::kPortable, GetParam(), numbers);
  for (const Level level : all_levels()) {
    EXPECT_EQ(narrowed(level, GetParam(), numbers), expected) << name_of(level);
  }
}

TEST(ConvertTest, CopiesF32AndF64) {
  const std::vector<float> floats = {1.5F, -0.0F, HUGE_VALF};
  std::vector<float> float_copy(floats.size());
  widen(Dtype::kF32, std::as_bytes(std::span(floats)), float_copy);
  EXPECT_EQ(bytes_of_all(float_copy), bytes_of_all(floats));
  const std::vector<double> doubles = {0.1, -1e300};
  std::vector<double> double_copy(doubles.size());
  narrow(Dtype::kF64, doubles, std::as_writable_bytes(std::span(double_copy)));
  EXPECT_EQ(double_copy, doubles);
}

TEST(ChangeInPieces, VisitsEveryElementOnce) {
  for (const std::size_t count : {0U, 1U, 1023U, 1024U, 1025U, 5000U}) {
    std::vector<double> numbers(count);
    const auto elements = std::as_writable_bytes(std::span(numbers));
    change_in_pieces<double>(Dtype::kF64, elements, [](std::size_t first, std::span<double> piece) {
      for (std::size_t i = 0; i < piece.size(); ++i) piece[i] += static_cast<double>(first + i);
    });
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(numbers[i], static_cast<double>(i));
  }
}

TEST(ConvertDeathTest, RefusesTypesThatDoNotFit) {
  std::vector<float> numbers(2);
  EXPECT_DEATH(widen(Dtype::kI32, std::vector<std::byte>(8), numbers), "stretto bug");
  EXPECT_DEATH(widen(Dtype::kF16, std::vector<std::byte>(8), numbers), "stretto bug");
}

}  // namespace
}  // namespace stretto::ops
