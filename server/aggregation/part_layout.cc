// SPDX-License-Identifier: Apache-2.0
// The layout is computed once, when a part is made.
#include "server/aggregation/part_layout.h"

#include "ops/mean.h"

namespace stretto {
namespace {

// The rules of optimizers average over a round too.
bool averages(Rule rule) { return rule == Rule::kMean || is_optimizer(rule); }

}  // namespace

PartLayout::PartLayout(const TensorSpec& spec, const wire::Key& of, std::size_t count,
                       std::uint32_t all)
    : key(of),
      options(spec.options),
      dtype(spec.dtype),
      sums(dtype_of_sums(spec)),
      elements(count),
      bytes(count * bytes_of(spec.dtype)),
      workers(all),
      mean(averages(spec.options.update.rule)),
      has_rule(!is_of_its_round(spec.options)),
      codec(spec.options.codec.value_or(CodecSpec())),
      name_hash(ops::name_hash(spec.name)) {}

Dtype PartLayout::dtype_of_sums(const TensorSpec& spec) {
  const bool means = has_rounds(spec.options.mode) && averages(spec.options.update.rule);
  return means ? ops::dtype_of_sums(spec.dtype) : spec.dtype;
}

}  // namespace stretto
