// SPDX-License-Identifier: Apache-2.0
// An update is what the rule does to parameters that are zero; every rule is linear in its rate.
#include "worker/training/optimizer.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto {

Result<Optimizer> Optimizer::make(const RuleOptions& options, std::size_t elements) {
  if (options.rule == Rule::kSum) return Optimizer(options, nullptr);
  if (options.rule == Rule::kMean) {
    return Status(Code::kInvalidArgument,
                  "the optimizer is one of sgd, momentum, adam and adagrad, or sum for updates "
                  "that are made elsewhere; this is a mean");
  }
  if (auto all = ops::make_update_rule(options, Dtype::kF32, 0); !all.ok()) return all.status();
  RuleOptions plain = options;
  plain.rate = 1;
  plain.weight_decay = 0;
  auto rule = ops::make_update_rule(plain, Dtype::kF32, elements);
  if (!rule.ok()) return rule.status();
  return Optimizer(options, std::move(*rule));
}

std::vector<std::byte> Optimizer::save() const {
  std::vector<std::byte> saved;
  if (rule_ == nullptr) return saved;
  for (const std::span<const std::byte> piece : rule_->memory()) {
    saved.insert(saved.end(), piece.begin(), piece.end());
  }
  return saved;
}

Status Optimizer::load(std::span<const std::byte> saved) {
  std::vector<std::span<std::byte>> pieces;
  if (rule_ != nullptr) pieces = rule_->memory();
  std::size_t wanted = 0;
  for (const std::span<std::byte> piece : pieces) wanted += piece.size();
  if (saved.size() != wanted) {
    return {Code::kMismatch,
            fmt::format("what an optimizer remembered has {} bytes, this one remembers {}: it is "
                        "another rule, or another tensor",
                        saved.size(), wanted)};
  }
  for (const std::span<std::byte> piece : pieces) {
    std::ranges::copy(saved.first(piece.size()), piece.begin());
    saved = saved.subspan(piece.size());
  }
  return {};
}

void Optimizer::make_update(std::span<const float> gradient, std::span<const float> values,
                            double factor, std::span<float> update) {
  if (rule_ == nullptr) {
    const auto scale = static_cast<float>(factor);
    std::ranges::transform(gradient, update.begin(), [scale](float x) { return scale * x; });
    return;
  }
  if (decay_ != 0) {
    const auto decay = static_cast<float>(decay_);
    decayed_.resize(gradient.size());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      decayed_[i] = gradient[i] + decay * values[i];
    }
    gradient = decayed_;
  }
  std::ranges::fill(update, 0.0F);
  rule_->apply(std::as_writable_bytes(update), std::as_bytes(gradient), 1);
  const auto scale = static_cast<float>(rate_ * factor);
  for (float& element : update) element *= scale;
}

}  // namespace stretto
