// SPDX-License-Identifier: Apache-2.0
// Error texts, and the action for each policy.
#include "worker/operations/non_finite.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <string_view>

#include "common/log.h"

namespace stretto {
namespace {

constexpr std::string_view kRejected = "; nothing of it was sent";

std::string words_for(const Operation& operation, const TensorState& tensor) {
  const ops::NotFinite& found = operation.not_finite->found;
  return fmt::format(
      "{}: of the contribution of worker {} {} of {} elements are NaN or infinite, "
      "the first is {} at {}",
      tensor.describe(), operation.not_finite->worker, found.count, operation.tensor.elements,
      std::isnan(found.value) ? "nan" : fmt::format("{}", found.value), found.first);
}

}  // namespace

bool is_rejected(const Status& status) {
  return status.code() == Code::kNotFinite && status.cause().ends_with(kRejected);
}

NonFiniteAction judge_not_finite(Operation& operation, const TensorState& tensor,
                                 std::uint64_t count) {
  using Next = NonFiniteAction::Next;
  const std::string words = words_for(operation, tensor);
  if (std::has_single_bit(count)) {
    log(Level::kWarning, "{} (contribution {} of this kind here)", words, count);
  }
  const NonFinite policy = operation.tensor.non_finite;
  if (policy == NonFinite::kCount) return {};
  // Otherwise other workers would wait for a contribution that never arrives.
  const bool is_missed = tensor.spec.options.exchange != Exchange::kServers ||
                         tensor.spec.options.mode == Mode::kBounded;
  if (policy == NonFinite::kRaise || is_missed) return {Next::kFail, {Code::kNotFinite, words}};
  Status rejected(Code::kNotFinite, words + std::string(kRejected));
  if (!has_rounds(tensor.spec.options.mode)) return {Next::kEnd, std::move(rejected)};
  // The other workers' round must not wait for it.
  operation.kind = Operation::Kind::kListen;
  operation.source = {};
  operation.rejected = std::move(rejected);
  return {};
}

}  // namespace stretto
