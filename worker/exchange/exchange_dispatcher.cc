// SPDX-License-Identifier: Apache-2.0
// Begins, abandons and times out operations.
#include "worker/exchange/exchange_dispatcher.h"

#include <fmt/core.h>

#include "worker/operations/non_finite.h"

namespace stretto {
namespace {

bool is_among_workers(const wire::Header& header) {
  return header.kind == wire::Kind::kUp || header.kind == wire::Kind::kDown;
}

}  // namespace

ExchangeDispatcher::ExchangeDispatcher(Van& van, const Clock& clock, Tensors& tensors,
                                       Duration operation_timeout,
                                       std::unique_ptr<CodecExecutor> coder, std::string token)
    : van_(van),
      clock_(clock),
      tensors_(tensors),
      operations_(clock, operation_timeout, tensors),
      servers_(van, clock, tensors, std::move(coder), outcomes()),
      peers_(van, std::move(token)),
      members_(van, tensors, peers_, outcomes()),
      steering_(van, tensors, operations_) {}

OperationEvents ExchangeDispatcher::outcomes() {
  return {.end = [this](const OperationPtr& operation,
                        const Status& status) { operations_.end(operation, status); },
          .fail_tensor = [this](std::uint32_t id, const Status& why) { fail_tensor(id, why); },
          .progress = progress_};
}

ExchangeBackend& ExchangeDispatcher::way_of(const TensorState& tensor) {
  if (tensor.spec.options.exchange == Exchange::kServers) return servers_;
  return members_;
}

void ExchangeDispatcher::set_tracer(Tracer* tracer) {
  operations_.set_tracer(tracer);
  servers_.set_tracer(tracer);
}

void ExchangeDispatcher::start(const OperationPtr& operation) {
  operations_.admit(*operation);
  if (Status unknown = tensors_.check(operation->tensor); !unknown.ok()) {
    return operations_.end(operation, unknown);
  }
  TensorState& tensor = tensors_.of(*operation);
  const Status refused =
      tensor.failed.ok() ? way_of(tensor).refusal(tensor, *operation) : tensor.failed;
  if (!refused.ok()) return operations_.end(operation, refused);
  if (operation->not_finite) {
    const NonFiniteAction verdict = judge_not_finite(*operation, tensor, ++progress_.not_finite);
    // Other workers first: the program may exit when it gets the error.
    if (verdict.next == NonFiniteAction::Next::kFail) fail_tensor(tensor.id, verdict.why);
    if (verdict.next != NonFiniteAction::Next::kBegin) {
      return operations_.end(operation, verdict.why);
    }
  }
  if (tensor.parts.empty() && operation->call == nullptr) return operations_.end(operation, {});
  operations_.begin(operation);
  way_of(tensor).begin(tensor, operation);
}

void ExchangeDispatcher::steer(const OperationPtr& operation, const detail::Change& change) {
  if (!steering_.steer(operation, change)) return;
  TensorState& tensor = tensors_.of(*operation);
  way_of(tensor).advance(tensor, *operation);
}

void ExchangeDispatcher::fail_tensor(std::uint32_t id, const Status& why) {
  TensorState* tensor = tensors_.find(id);
  if (tensor == nullptr || !tensor->failed.ok()) return;
  tensor->fail(why);
  way_of(*tensor).failed(*tensor, why);
  for (const OperationPtr& operation : operations_.of_tensor(id)) give_up(operation, why);
}

// Ends an operation on a failed tensor.
void ExchangeDispatcher::give_up(const OperationPtr& operation, const Status& why) {
  van_.queue().cancel(operation->id);
  way_of(tensors_.of(*operation)).forget(*operation);
  operations_.end(operation, why);
}

void ExchangeDispatcher::on_data(LinkId link, const wire::Header& header, Buffer payload) {
  if (!is_among_workers(header)) return servers_.on_data(header, payload);
  const Member* peer = peers_.find(link);
  if (peer == nullptr || peers_.link_to(peer->node) != 0) {
    return members_.on_data(link, header, std::move(payload));
  }
  keep(*peer, {.link = link, .what = EarlyFrames::Data{header, to_keep(payload)}});
}

std::span<std::byte> ExchangeDispatcher::landing(LinkId link, const wire::Header& header) {
  if (!is_among_workers(header)) return servers_.landing(header);
  const Member* peer = peers_.find(link);
  const bool is_early = peer != nullptr && peers_.link_to(peer->node) == 0;
  return is_early ? std::span<std::byte>() : members_.landing(link, header);
}

Status ExchangeDispatcher::on_peer(LinkId link, const control::Message& message) {
  const Member* peer = peers_.on_control(link, message);
  if (peer == nullptr) {
    take_early();
    return {};
  }
  const auto* fault = std::get_if<control::Fault>(&message);
  if (fault != nullptr && fault->tensor == 0) return Status(fault->why).with_peer(peer->describe());
  if (peers_.link_to(peer->node) != 0) {
    members_.on_control(link, *peer, message);
  } else {
    keep(*peer, {.link = link, .what = message});
  }
  return {};
}

void ExchangeDispatcher::keep(const Member& from, EarlyFrames::Frame frame) {
  const LinkId link = frame.link;
  if (early_.keep(from.node, std::move(frame))) return;
  van_.links().refuse(link, {Code::kResource, "too much came before all links were there"});
}

// Frames of a worker that was lost meanwhile are dropped: its links are unknown.
void ExchangeDispatcher::take_early() {
  const auto is_due = [this](NodeId node, LinkId link) {
    return peers_.link_to(node) != 0 || peers_.find(link) == nullptr;
  };
  for (EarlyFrames::Frame& frame : early_.take(is_due)) {
    const Member* peer = peers_.find(frame.link);
    if (peer == nullptr) continue;
    if (auto* data = std::get_if<EarlyFrames::Data>(&frame.what)) {
      members_.on_data(frame.link, data->header, std::move(data->payload));
    } else {
      members_.on_control(frame.link, *peer, std::get<control::Message>(frame.what));
    }
  }
}

const Member* ExchangeDispatcher::lose_peer(LinkId link) {
  if (const Member* peer = peers_.find(link)) early_.forget(peer->node);
  return peers_.lose(link);
}

std::string ExchangeDispatcher::missing(const Operation& operation) {
  for (const OperationPtr& each : operations_.of_tensor(operation.tensor.id)) {
    if (each.get() == &operation) {
      const TensorState& tensor = tensors_.of(operation);
      return way_of(tensor).missing(tensor, operation);
    }
  }
  return {};
}

void ExchangeDispatcher::end_all(const Status& why) {
  servers_.stop();
  tensors_.fail_all(why);
  const std::vector<OperationPtr> doomed = operations_.all();
  for (const auto& operation : doomed) give_up(operation, why);
  operations_.end_free();
}

void ExchangeDispatcher::tick() {
  const Time now = clock_.now();
  while (const Operation* late = operations_.late(now)) {
    const TensorState& tensor = tensors_.of(*late);
    fail_tensor(
        tensor.id,
        {Code::kTimeout,
         fmt::format("{} not done after {} s, {}; the outcome is unknown, so it cannot be "
                     "used further",
                     tensor.describe(), seconds(operations_.patience().lasts()), missing(*late))});
  }
  operations_.end_free();
  members_.tick();
}

}  // namespace stretto
