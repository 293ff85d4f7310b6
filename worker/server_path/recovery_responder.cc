// SPDX-License-Identifier: Apache-2.0
// Answers to servers that have replaced others.
#include "worker/server_path/recovery_responder.h"

namespace stretto {
void RecoveryResponder::keep(PartState& part, const wire::ValueFacts& facts,
                             const Buffer& payload) {
  part.kept = {.bytes = to_own(payload),
               .round = part.rounds(),
               .version = facts.version,
               .contributors = facts.contributors};
}

void RecoveryResponder::tell_how_far(const TensorState& tensor, std::uint32_t index) {
  const PartState& part = tensor.parts[index];
  van_.send_control(part.link(),
                    control::Recall{.tensor = tensor.id,
                                    .part = index,
                                    .round = part.kept.round,
                                    .version = part.kept.version,
                                    .finished = part.rounds_ended(),
                                    .owed = part.cannot_resend() && !shares_.has(part)});
}

// Only the rounds of other workers still wait for it.
void RecoveryResponder::send_empty_share(const TensorState& tensor, std::uint32_t part) {
  const PartState& state = tensor.parts[part];
  const wire::PushFrame push{.key = {tensor.id, part},
                             .round = state.rounds(),
                             .computed_from = state.last.version(),
                             .absent = true,
                             .uncounted = state.open_share().listens,
                             .again = true,
                             .dtype = tensor.spec.dtype};
  van_.send(state.link(), push.header(), Buffer(),
            {.tag = 0, .deadline = Time::max(), .bulk = tensor.spec.options.bulk});
}

void RecoveryResponder::tell_failed(const TensorState& tensor, LinkId link) {
  const Status why(tensor.failed.code(), tensor.failed.cause());
  van_.send_control(link, control::Fault{.why = why, .tensor = tensor.id});
}

void RecoveryResponder::answer(LinkId link, const control::Recall& recall) {
  const wire::Key key{recall.tensor, recall.part};
  const TensorState* tensor = tensors_.find(key);
  if (tensor == nullptr) {  // Then nothing has been sent.
    return van_.send_control(link, control::Recall{.tensor = recall.tensor, .part = recall.part});
  }
  if (!tensor->failed.ok()) return tell_failed(*tensor, link);
  const PartState& part = tensor->parts[recall.part];
  if (link != part.link()) return;
  if (recall.round == 0) return tell_how_far(*tensor, recall.part);
  const RetainedValue& kept = part.kept;
  if (recall.round != kept.round || recall.version != kept.version) {
    const Status why(Code::kServerLost,
                     "its last value, which was asked for, is not here any more");
    return van_.send_control(link, control::Fault{.why = why, .tensor = tensor->id});
  }
  const wire::ValueFrame value{
      .key = key,
      .facts = {.version = kept.version, .contributors = kept.contributors},
      .dtype = tensor->spec.dtype};
  van_.send(link, value.header(), kept.bytes,
            {.tag = 0, .deadline = Time::max(), .bulk = tensor->spec.options.bulk});
}

}  // namespace stretto
