// SPDX-License-Identifier: Apache-2.0
// Frames out and in for each part, and their effects.
#include "worker/server_path/server_exchange.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/check.h"

namespace stretto {
namespace {

constexpr std::int32_t kMostUrgent = std::numeric_limits<std::int32_t>::max();

wire::PushFrame push_of(const TensorState& tensor, std::uint32_t part, const Operation& operation) {
  return {.key = {tensor.id, part},
          .round = tensor.parts[part].rounds(),
          .computed_from = tensor.parts[part].last.version(),
          .root = operation.root,
          .root_view = operation.root_view,
          .wants_value = operation.wants_value(),
          .assigns = operation.broadcasts(),
          .absent = operation.source.empty(),
          .uncounted = operation.listens(),
          .dtype = tensor.spec.dtype,
          .priority = operation.priority};
}

Status without_root(const Operation& operation) {
  return {
      Code::kMembersChanged,
      fmt::format("worker {}, from whom it was to come, is not in any more; nothing was changed, "
                  "and all workers get this: begin it again",
                  operation.root)};
}

SendTerms terms_of(const TensorState& tensor, const Operation& operation) {
  return {
      .tag = operation.id, .deadline = operation.deadline_wanted, .bulk = tensor.spec.options.bulk};
}

// A pull that may overtake pushes takes the current value.
wire::PullFrame pull_of(const TensorState& tensor, std::uint32_t part, const Operation& operation) {
  const PartState& state = tensor.parts[part];
  const bool passes = tensor.lane_of(operation) == PartState::kPulls;
  const bool probes = operation.kind == Operation::Kind::kProbe;
  return {.key = {tensor.id, part},
          .least_version = passes ? 0 : state.rounds(),
          .last_version = state.last.version(),
          .probes = probes,
          .priority = probes ? kMostUrgent : operation.priority};
}

}  // namespace

ServerExchange::ServerExchange(Van& van, const Clock& clock, Tensors& tensors,
                               std::unique_ptr<CodecExecutor> coder, OperationEvents outcomes)
    : van_(van),
      tensors_(tensors),
      codings_(clock, std::move(coder),
               {.allocate = [&van](std::size_t bytes) { return van.allocate(bytes); },
                .waker = van.waker(),
                .encoded =
                    [this](TensorState& tensor, wire::PushFrame push, const OperationPtr& operation,
                           Buffer share) {
                      push.codec = tensor.spec.options.codec->codec;
                      push.priority = operation->priority;
                      share = recalls_.shares().keep(tensor.parts[push.key.part], push,
                                                     std::move(share));
                      post(tensor, push.header(), std::move(share), *operation);
                      if (operation->paused) van_.queue().pause(operation->id);
                    },
                .decoded = [this](TensorState& tensor,
                                  const wire::ValueFrame& value) { take_value(tensor, value); }}),
      recalls_(van, tensors),
      outcomes_(std::move(outcomes)) {}

void ServerExchange::set_tracer(Tracer* tracer) {
  tracer_ = tracer;
  codings_.set_tracer(tracer);
}

// ---- out

Status ServerExchange::refusal(const TensorState& tensor, const Operation& operation) const {
  if (!operation.listens() || has_rounds(tensor.spec.options.mode)) return {};
  return {Code::kInvalidArgument,
          fmt::format("tensor '{}' has mode {}, in which there are no rounds to listen to",
                      tensor.spec.name, name_of(tensor.spec.options.mode))};
}

void ServerExchange::begin(TensorState& tensor, const OperationPtr& operation) {
  const PartState::LaneName lane = tensor.lane_of(*operation);
  const bool probes = lane == PartState::kProbes;
  operation->parts_left =
      static_cast<std::uint32_t>(probes ? tensor.probed.size() : tensor.parts.size());
  for (std::uint32_t i = 0; i < operation->parts_left; ++i) {
    const std::uint32_t part = probes ? tensor.probed[i] : i;
    if (tensor.parts[part].enter(lane, operation)) send(tensor, part, operation);
  }
}

void ServerExchange::advance(TensorState& tensor, const Operation& operation) {
  const PartState::LaneName lane = tensor.lane_of(operation);
  for (std::uint32_t part = 0; part < tensor.parts.size(); ++part) advance(tensor, part, lane);
}

// Begins the waiting operation of a part, if the part is free for it.
void ServerExchange::advance(TensorState& tensor, std::uint32_t part, PartState::LaneName lane) {
  if (const OperationPtr next = tensor.parts[part].next(lane)) send(tensor, part, next);
}

void ServerExchange::send(TensorState& tensor, std::uint32_t part, const OperationPtr& operation) {
  ++operation->parts_begun;
  send_frame(tensor, part, operation);
}

void ServerExchange::send_frame(TensorState& tensor, std::uint32_t part,
                                const OperationPtr& operation) {
  if (operation->pushes()) return send_share(tensor, push_of(tensor, part, *operation), operation);
  post(tensor, pull_of(tensor, part, *operation).header(), Buffer(), *operation);
}

// The user's memory is sent without a copy, unless it goes through a codec first.
void ServerExchange::send_share(TensorState& tensor, const wire::PushFrame& push,
                                const OperationPtr& operation) {
  outcomes_.progress.most_rounds = std::max(outcomes_.progress.most_rounds, push.round);
  const std::shared_ptr<PartCoder>& coder = tensor.parts[push.key.part].codec.coder;
  if (coder != nullptr && push.assigns) coder->reset();
  if (push.absent) return post(tensor, push.header(), Buffer(), *operation);
  if (coder != nullptr && !push.assigns) return codings_.encode(tensor, push, operation);
  const std::span<const std::byte> bytes = tensor.bytes_of(operation->source, push.key.part);
  Buffer share =
      recalls_.shares().outlives(tensor, *operation)
          ? recalls_.shares().keep(tensor.parts[push.key.part], push, Buffer::copy_of(bytes))
          : lease(operation, bytes, van_.waker());
  post(tensor, push.header(), std::move(share), *operation);
}

void ServerExchange::post(const TensorState& tensor, const wire::Header& header, Buffer payload,
                          const Operation& operation) {
  van_.send(tensor.parts[header.key.part].link(), header, std::move(payload),
            terms_of(tensor, operation));
}

// ---- in

void ServerExchange::on_data(const wire::Header& header, const Buffer& payload) {
  TensorState* tensor = tensors_.find(header.key);
  if (tensor == nullptr || !tensor->failed.ok()) return;  // Too late: its operations have ended.
  if (header.kind == wire::Kind::kValue) {
    on_value(*tensor, wire::ValueFrame::of(header), payload);
  } else if (header.kind == wire::Kind::kDone) {
    on_done(*tensor, wire::DoneFrame::of(header));
  }
}

// Slices of a value go straight to the user's target.
std::span<std::byte> ServerExchange::landing(const wire::Header& header) {
  const TensorState* tensor = tensors_.find(header.key);
  if (tensor == nullptr || header.kind != wire::Kind::kValue) return {};
  // The source may be the same memory, and is needed until the value is complete.
  if (recalls_.keeps(*tensor)) return {};
  const auto value = wire::ValueFrame::of(header);
  const PartState::LaneName lane = tensor->lane_of(value);
  const PartState& part = tensor->parts[value.key.part];
  if (part.judge(lane, value.answers_push) != PartState::Verdict::kWanted || part.codec.encoding ||
      recalls_.shares().is_in_place(*part.current(lane)) || value.dtype != tensor->spec.dtype ||
      value.codec != Codec::kNone) {
    return {};
  }
  return tensor->bytes_of(part.current(lane)->target, value.key.part);
}

void ServerExchange::on_value(TensorState& tensor, const wire::ValueFrame& value,
                              const Buffer& payload) {
  const std::uint32_t index = value.key.part;
  const PartState::LaneName lane = tensor.lane_of(value);
  PartState& part = tensor.parts[index];
  switch (part.judge(lane, value.answers_push)) {
    case PartState::Verdict::kGivenUp:
      part.take_given_up(lane);
      return advance(tensor, index, lane);
    case PartState::Verdict::kUnwanted:
      return;
    case PartState::Verdict::kTooEarly:
      return outcomes_.fail_tensor(
          tensor.id, {Code::kMalformed,
                      fmt::format("tensor '{}', part {}: a value came before our share had left",
                                  tensor.spec.name, index)});
    case PartState::Verdict::kWanted:
      break;
  }
  if (Status status = CodecJobs::check(tensor, value, payload); !status.ok()) {
    return outcomes_.fail_tensor(tensor.id, status);
  }
  if (value.codec != Codec::kNone) return codings_.decode(tensor, value, payload);
  std::byte* target = tensor.bytes_of(part.current(lane)->target, index).data();
  if (target != payload.data()) {  // Else it landed there.
    std::memcpy(target, payload.data(), payload.size());
    if (tracer_ != nullptr) tracer_->worked(payload.size());
  }
  if (recalls_.keeps(tensor)) RecoveryResponder::keep(part, value.facts, payload);
  take_value(tensor, value);
}

// The value is in the target, or not wanted any more.
void ServerExchange::take_value(TensorState& tensor, const wire::ValueFrame& value) {
  const std::uint32_t index = value.key.part;
  const PartState::LaneName lane = tensor.lane_of(value);
  PartState& part = tensor.parts[index];
  Operation& operation = *part.current(lane);
  const ValueInfo info = part.last.info_of(value.facts);
  part.last.note(value.facts);
  if (!operation.cancelled) {
    operation.note(info);
    if (is_eager(tensor.spec.options.mode)) {
      operation.parts.push_back(
          {tensor.id, tensor.cut.offset_of(index), tensor.cut.bytes_of_part(index), info});
    }
    outcomes_.progress.last_staleness = info.staleness;
    outcomes_.progress.staleness.add(info.staleness);
  }
  end_part(tensor, index, lane);
}

void ServerExchange::on_done(TensorState& tensor, const wire::DoneFrame& done) {
  const std::uint32_t index = done.key.part;
  PartState& part = tensor.parts[index];
  if (!done.answers_probe) {
    if (done.facts.own_applied < part.rounds()) return;  // A repeat of an earlier one.
    if (const OperationPtr& current = part.current(PartState::kShares);
        current != nullptr && current->broadcasts()) {
      current->made_nothing = true;
      return end_part(tensor, index, PartState::kShares);
    }
    part.end_round();
    return advance(tensor, index, PartState::kShares);
  }
  if (part.take_given_up(PartState::kProbes)) return advance(tensor, index, PartState::kProbes);
  if (part.current(PartState::kProbes) == nullptr) return;
  part.current(PartState::kProbes)->note(part.last.info_of(done.facts));
  end_part(tensor, index, PartState::kProbes);
}

// An answer may have arrived before: then the acknowledgement is not of the current push.
void ServerExchange::on_acked(const wire::PushTag& push) {
  const wire::Key& key = push.key;
  TensorState* tensor = tensors_.find(key);
  if (tensor == nullptr || tensor->parts[key.part].rounds() != push.round) return;
  codings_.free(*tensor, key.part);
  const PartState& part = tensor->parts[key.part];
  const OperationPtr& current = part.current(PartState::kShares);
  if (current == nullptr || current->wants_value()) return;
  if (part.codec.encoding) {
    return outcomes_.fail_tensor(
        key.tensor, {Code::kMalformed, "a server acknowledged a push that has not left"});
  }
  end_part(*tensor, key.part, PartState::kShares);
}

// A cancelled pull may wait at the server for a value that never arrives: the error ends only that
// pull. Other operations that wait for the value get their own error.
void ServerExchange::on_fault(const wire::Key& key, const Status& why) {
  TensorState* tensor = tensors_.find(key);
  const bool in_vain = why.code() == Code::kTimeout || why.code() == Code::kPeerLost;
  if (tensor != nullptr && in_vain) {
    for (const PartState::LaneName lane : {PartState::kShares, PartState::kPulls}) {
      if (tensor->parts[key.part].take_given_up(lane)) return advance(*tensor, key.part, lane);
    }
  }
  outcomes_.fail_tensor(key.tensor, why);
}

// ---- another owner

void ServerExchange::send_again(TensorState& tensor, LinkId link) {
  if (!tensor.failed.ok()) return recalls_.tell_failed(tensor, link);
  for (std::uint32_t part = 0; part < tensor.parts.size(); ++part) {
    if (tensor.parts[part].link() != link) continue;
    bool is_fresh = false;
    if (tensor.parts[part].knows_round_ended()) {  // By its value, which came earlier.
      is_fresh = tensor.parts[part].current(PartState::kShares) == nullptr;
      tensor.parts[part].end_round();
      advance(tensor, part, PartState::kShares);  // The next operation goes there at once.
    }
    // Otherwise the server might never start its queries.
    const bool open = tensor.parts[part].cannot_resend();
    const SendTerms terms{.tag = 0, .deadline = Time::max(), .bulk = tensor.spec.options.bulk};
    if (open && !recalls_.shares().send_again(tensor, part, terms))
      recalls_.tell_how_far(tensor, part);
    if (tensor.parts[part].awaits_empty_share()) recalls_.send_empty_share(tensor, part);
    for (const auto lane : {PartState::kShares, PartState::kPulls, PartState::kProbes}) {
      if (!is_fresh || lane != PartState::kShares) send_lane_again(tensor, part, lane);
    }
  }
}

void ServerExchange::send_lane_again(TensorState& tensor, std::uint32_t part,
                                     PartState::LaneName lane) {
  PartState& state = tensor.parts[part];
  state.take_given_up(lane);  // No answer will come.
  const OperationPtr current = state.current(lane);
  if (current == nullptr) return advance(tensor, part, lane);
  if (state.codec.decoding && lane == PartState::kShares) return;  // It has its answer.
  if (current->cancelled) return current->pushes() ? void() : end_part(tensor, part, lane);
  ++current->parts_begun;  // It may have counted, and cannot be taken back.
  wire::PushFrame push = push_of(tensor, part, *current);
  push.again = true;
  // A contribution at its codec is sent later; an encoded one is retransmitted as it was.
  if (!current->pushes()) {
    send_frame(tensor, part, current);
  } else if (!state.codec.encoding &&
             !recalls_.shares().send_again(tensor, part, terms_of(tensor, *current))) {
    send_share(tensor, push, current);
  }
  if (current->paused) van_.queue().pause(current->id);
}

// ---- ends

// The servers tell other workers what this worker will not contribute.
void ServerExchange::failed(const TensorState& tensor, const Status& why) {
  if (why.code() != Code::kNotFinite || !why.peer().empty()) return;
  for (const std::uint32_t part : tensor.probed) {  // One for each link.
    van_.send_control(tensor.parts[part].link(), control::Fault{.why = why, .tensor = tensor.id});
  }
}

void ServerExchange::end_part(TensorState& tensor, std::uint32_t part, PartState::LaneName lane) {
  if (lane == PartState::kShares) codings_.free(tensor, part);
  const OperationPtr operation = tensor.parts[part].end(lane);
  STRETTO_CHECK(operation->cancelled || operation->parts_left > 0);
  if (!operation->cancelled && --operation->parts_left == 0) {
    outcomes_.end(operation,
                  operation->made_nothing ? without_root(*operation) : operation->rejected);
  }
  advance(tensor, part, lane);
}

}  // namespace stretto
