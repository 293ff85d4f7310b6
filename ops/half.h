// SPDX-License-Identifier: Apache-2.0
// IEEE 754 binary16 to binary32 and back in plain code, for processors without an instruction for
// it. The bits are those of F16C, quiet NaN included.
#pragma once

#include <bit>
#include <cstdint>

namespace stretto::ops {

/// The f32 of the same value; a signalling NaN becomes quiet.
constexpr float widen_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7fffU;
  if (magnitude < 0x0400) {  // Zero or subnormal: a count of 2^-24.
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  constexpr std::uint32_t kBias = (127 - 15) << 23;
  if (magnitude < 0x7c00) return std::bit_cast<float>(sign | ((magnitude << 13) + kBias));
  const std::uint32_t quiet = magnitude > 0x7c00 ? 0x00400000 : 0;
  return std::bit_cast<float>(sign | 0x7f800000U | quiet | (magnitude << 13));
}

/// The nearest f16, ties to even; 65520 and above become Inf. NaN stays NaN, quiet, with the upper
/// bits of its payload. Correct only in the default rounding mode.
constexpr std::uint16_t narrow_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000) {  // NaN.
    half = 0x7e00U | ((magnitude >> 13) & 0x03ffU);
  } else if (magnitude >= 0x477ff000) {  // 65520, halfway from the largest f16 to 65536.
    half = 0x7c00;
  } else if (magnitude >= 0x38800000) {  // 2^-14, the least normal f16.
    const std::uint32_t nearest = magnitude + 0x0fffU + ((magnitude >> 13) & 1U);
    half = (nearest >> 13) - ((127U - 15U) << 10);
  } else {  // From 0.5 to 1 f32 has the step of subnormal f16, 2^-24: adding 0.5 rounds.
    const float count = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<std::uint32_t>(count) - std::bit_cast<std::uint32_t>(0.5F);
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace stretto::ops
