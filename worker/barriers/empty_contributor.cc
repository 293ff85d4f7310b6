// SPDX-License-Identifier: Apache-2.0
// An empty contribution is a push of all parts of a tensor, like any other. Requests for more parts
// of that round arrive when it has begun.
#include "worker/barriers/empty_contributor.h"

#include <limits>
#include <utility>

#include "common/check.h"

namespace stretto {

void EmptyContributor::begin(std::uint64_t number) {
  STRETTO_CHECK(!sitting() && number > 0);
  number_ = number;
  ways_.tell({.number = number});
}

void EmptyContributor::end() {
  STRETTO_CHECK(sitting());
  over_ = std::exchange(number_, 0);
  ways_.tell({.number = over_, .over = true});
}

void EmptyContributor::give_up() {
  STRETTO_CHECK(sitting());
  number_ = 0;
  ways_.tell({});
}

Status EmptyContributor::refusal() const {
  if (!sitting()) return {};
  return {Code::kInvalidArgument,
          "this worker sits out until all do; begin nothing before sit_out() has returned"};
}

bool EmptyContributor::at_rest() const {
  return exchange_.operations().idle() && tensors_.settled();
}

void EmptyContributor::on_wanted(const control::Wanted& wanted) {
  if (!sitting()) return;
  TensorSpec spec = wanted.spec;
  if (!spec.options.codec) spec.options.codec = CodecSpec();  // None, whatever the rules say.
  ways_.declare(spec, [this, part = wanted.part, round = wanted.round](const Result<Tensor>& made) {
    if (made.ok() && sitting()) attend(*made, part, round);
  });
}

void EmptyContributor::attend(const Tensor& tensor, std::uint32_t part, std::uint64_t round) {
  if (tensors_.rounds_begun(tensor.id, part) >= round) return;
  auto operation = std::make_shared<Operation>();
  operation->kind = Operation::Kind::kPush;
  operation->tensor = tensor;
  operation->priority = std::numeric_limits<std::int32_t>::max();  // Other workers wait.
  operation->ticket = std::make_shared<detail::TicketState>(1);
  exchange_.start(operation);
}

}  // namespace stretto
