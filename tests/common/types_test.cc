// SPDX-License-Identifier: Apache-2.0
// Element types: sizes, names, and numbers that never change because they travel.
#include "stretto/types.h"

#include <gtest/gtest.h>

#include <tuple>

namespace stretto {
namespace {

TEST(Dtype, HasANumberASizeAndAName) {
  for (const auto& [dtype, number, size, name] :
       {std::tuple{Dtype::kF32, 1, 4, "f32"}, std::tuple{Dtype::kF64, 2, 8, "f64"},
        std::tuple{Dtype::kF16, 3, 2, "f16"}, std::tuple{Dtype::kBf16, 4, 2, "bf16"},
        std::tuple{Dtype::kI8, 5, 1, "i8"}, std::tuple{Dtype::kU8, 6, 1, "u8"},
        std::tuple{Dtype::kI32, 7, 4, "i32"}, std::tuple{Dtype::kI64, 8, 8, "i64"}}) {
    EXPECT_EQ(static_cast<int>(dtype), number);
    EXPECT_EQ(bytes_of(dtype), static_cast<std::size_t>(size));
    EXPECT_EQ(name_of(dtype), name);
  }
}

TEST(Dtype, ANumberThatIsNoneHasNoSize) {
  for (const int number : {0, 9, 255}) {
    EXPECT_EQ(bytes_of(static_cast<Dtype>(number)), 0U);
    EXPECT_EQ(name_of(static_cast<Dtype>(number)), "unknown");
  }
}

}  // namespace
}  // namespace stretto
