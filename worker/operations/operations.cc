// SPDX-License-Identifier: Apache-2.0
// Operations from their admission to the end of their tickets.
#include "worker/operations/operations.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "common/memory/copy_bytes.h"

namespace stretto {

void OperationTable::admit(Operation& operation) {
  operation.id = ++last_id_;
  operation.deadline = patience_.deadline(clock_.now());
}

void OperationTable::begin(const OperationPtr& operation) {
  STRETTO_CHECK(!operation->in_flight && !operation->ended);
  STRETTO_CHECK(in_flight_.empty() || in_flight_.back()->deadline <= operation->deadline);
  operation->place = in_flight_.insert(in_flight_.end(), operation);
  operation->in_flight = true;
  last_begun_ = trait_of(*operation);
}

// Frames may still read the memory, even after the peer has reported the end.
void OperationTable::end(const OperationPtr& operation, const Status& status) {
  if (std::exchange(operation->in_flight, false)) in_flight_.erase(operation->place);
  operation->awaits_leases.store(true);
  if (operation->leases.load() > 0) {
    return lingering_.add(operation, status, clock_.now(), patience_.extended(operation->deadline));
  }
  tell(operation, status);
}

void OperationTable::end_free() {
  if (lingering_.empty()) return;
  for (const auto& [operation, status] : lingering_.take_free(clock_.now())) {
    tell(operation, status);
  }
}

void OperationTable::tell(const OperationPtr& operation, const Status& status) {
  STRETTO_CHECK(!std::exchange(operation->ended, true));
  last_ended_ = trait_of(*operation);
  if (status.ok()) {
    copy_bytes(operation->place_of_all, operation->wanted_at);
    operation->ticket->end_one(status, operation->info, std::move(operation->parts));
    if (tracer_ != nullptr && tracer_->on()) note_end(*operation);
    return;
  }
  operation->ticket->end_one(with_elsewhere(status).with_operation(describe(*operation)),
                             operation->info);
}

std::vector<OperationPtr> OperationTable::of_tensor(std::uint32_t id) const {
  std::vector<OperationPtr> found;
  std::ranges::copy_if(in_flight_, std::back_inserter(found),
                       [id](const auto& operation) { return operation->tensor.id == id; });
  return found;
}

const Operation* OperationTable::late(Time now) const {
  const bool any = !in_flight_.empty() && patience_.extended(in_flight_.front()->deadline) <= now;
  return any ? in_flight_.front().get() : nullptr;
}

Time OperationTable::next_due() const {
  if (!lingering_.empty()) return lingering_.next_due();
  return in_flight_.empty() ? Time::max() : patience_.extended(in_flight_.front()->deadline);
}

std::string OperationTable::describe(Label trait) const {
  if (trait.tensor == 0) return {};
  const TensorState* tensor = tensors_.find(trait.tensor);
  return fmt::format("{} '{}'", trait.name, tensor == nullptr ? "?" : tensor->spec.name);
}

const Operation* OperationTable::oldest(Time before) const {
  if (in_flight_.empty() || in_flight_.front()->deadline > after(before, patience_.lasts()))
    return nullptr;
  return in_flight_.front().get();
}

Status OperationTable::with_elsewhere(const Status& why) const {
  if (why.code() != Code::kTimeout || elsewhere_.empty()) return why;
  return Status(why.code(), fmt::format("{}; meanwhile {}", why.cause(), elsewhere_))
      .with_peer(why.peer())
      .with_operation(why.operation());
}

// The operation, and the wait for its ticket if the ticket ends now and a thread waited.
void OperationTable::note_end(const Operation& operation) const {
  TraceRecord record;
  record.begin_ns = trace_time(begun_at(operation));
  // A shared reading of the clock may be older than the operation.
  const auto now = std::max(record.begin_ns, trace_time(tracer_->now(clock_)));
  record.end_ns = now;
  record.kind = TraceKind::kExchange;
  record.tensor = operation.tensor.id;
  record.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      std::max(operation.source.size(), operation.target.size()), UINT32_MAX));
  record.priority = operation.priority;
  record.round = operation.info.applied;
  const std::int64_t waited_since = operation.ticket->waited_since();
  const bool over = waited_since < now && operation.ticket->done();
  tracer_->note(TraceNote{record, over ? waited_since : 0});
}

}  // namespace stretto
