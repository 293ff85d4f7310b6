// SPDX-License-Identifier: Apache-2.0
// Momentum, then error feedback, then the codec.
#include "ops/feedback.h"

#include <cmath>

#include "ops/codec_kernels.h"
#include "ops/kernels.h"

namespace stretto::ops {

namespace {

// An overflow is sent once (a loss scaler skips that step), and does not stay in the residual for
// ever.
void forget_infinite(std::span<float> numbers, const CodecKernels& kernels) {
  if (kernels.largest(numbers.data(), numbers.size()) < kInfinite) return;
  for (float& number : numbers) {
    if (!std::isfinite(number)) number = 0;
  }
}

}  // namespace

void PartEncoder::encode(std::span<const float> numbers, Encoding how, std::span<std::byte> out) {
  how.unbiased = how.unbiased && !spec_.error_feedback;
  const std::size_t count = numbers.size();
  const CodecKernels& kernels = codec_kernels_of(how.level);
  std::span<const float> wanted = numbers;
  if (momentum_) {
    memory_.resize(count);
    numbers_.resize(count);
    kernels.nesterov(numbers_.data(), memory_.data(), numbers.data(), static_cast<float>(spec_.mu),
                     count);
    forget_infinite(memory_, kernels);
    wanted = numbers_;
  }
  if (!spec_.error_feedback) return ops::encode(spec_, wanted, how, out);
  error_.resize(count);
  auto* owed = reinterpret_cast<std::byte*>(error_.data());
  kernels_of(how.level).sum.f32(owed, owed, std::as_bytes(wanted).data(), wanted.size_bytes());
  ops::encode(spec_, error_, how, out);
  ops::decode(spec_, out, error_, Then::kSubtract, how.level);
  forget_infinite(error_, kernels);
}

std::span<float> PartEncoder::owe(std::size_t count) {
  error_.resize(count);
  return error_;
}

void PartEncoder::reset() {
  memory_.clear();
  error_.clear();
}

}  // namespace stretto::ops
