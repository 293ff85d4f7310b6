// SPDX-License-Identifier: Apache-2.0
// A part does one thing at a time: its operations wait in the order in which the user began them.
// So a worker has at most one open round a part, and memory at both ends is bounded.
#include "worker/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace stretto {
namespace {

constexpr Duration kLingerCheck = 5ms;  // At the latest; the last lease's end wakes the loop.
constexpr Duration kLingerLimit = 2s;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::string_view name_of(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::kPush:
      return "push";
    case Operation::Kind::kPull:
      return "pull";
    case Operation::Kind::kPushPull:
      return "push_pull";
    case Operation::Kind::kBroadcastRoot:
    case Operation::Kind::kBroadcastReceiver:
      return "broadcast";
  }
  return "unknown";
}

// ---- tensors

void Exchange::add_tensor(std::uint32_t id, const TensorSpec& spec, const Cut& cut,
                          std::vector<LinkId> links) {
  auto [found, is_new] = tensors_.try_emplace(id, TensorState{spec, cut, {}, {}});
  if (!is_new) return;
  ids_[spec.name] = id;
  found->second.parts.resize(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) found->second.parts[i].link = links[i];
}

const TensorSpec* Exchange::find(std::uint32_t id) const {
  auto found = tensors_.find(id);
  return found == tensors_.end() ? nullptr : &found->second.spec;
}

const TensorSpec* Exchange::find(std::string_view name, std::uint32_t* id) const {
  auto found = ids_.find(name);
  if (found == ids_.end()) return nullptr;
  *id = found->second;
  return find(found->second);
}

// ---- out

void Exchange::start(const std::shared_ptr<Operation>& operation) {
  auto found = tensors_.find(operation->tensor.id);
  operation->id = next_id_++;
  operation->deadline = clock_.now() + timeout_;
  Status refused;
  if (found == tensors_.end()) {
    refused = {Code::kInvalidArgument,
               fmt::format("tensor {} was not declared by this worker", operation->tensor.id)};
  } else {
    refused = found->second.failed;
  }
  if (!refused.ok() || found->second.parts.empty()) {
    end(operation, refused);
    return;
  }
  TensorState& tensor = found->second;
  operation->parts_left = static_cast<std::uint32_t>(tensor.parts.size());
  operations_[operation->id] = operation;
  for (std::uint32_t part = 0; part < tensor.parts.size(); ++part) {
    tensor.parts[part].waiting.push_back(operation);
    advance(tensor, operation->tensor.id, part);
  }
}

// Begins what waits for a part, if the part is free for it. A pull may go while our last round is
// still open at the server; another share may not.
void Exchange::advance(TensorState& tensor, std::uint32_t id, std::uint32_t index) {
  Part& part = tensor.parts[index];
  if (part.current != nullptr || part.waiting.empty() || part.waiting.front()->paused) return;
  if (part.awaiting_done && part.waiting.front()->pushes()) return;
  part.current = std::move(part.waiting.front());
  part.waiting.pop_front();
  if (part.current->pushes()) {
    ++part.rounds;
    part.awaiting_done = !part.current->wants_value() && tensor.spec.options.mode == Mode::kSync;
  }
  send(tensor, id, index, *part.current);
}

void Exchange::send(const TensorState& tensor, std::uint32_t id, std::uint32_t index,
                    Operation& operation) {
  const Part& part = tensor.parts[index];
  wire::Header header;
  header.kind = operation.pushes() ? wire::Kind::kPush : wire::Kind::kPull;
  header.key = {id, index};
  header.priority = operation.priority;
  ++operation.parts_begun;
  header.version = part.rounds;
  header.base = part.last_version;
  Buffer payload;
  if (operation.pushes()) {
    unsigned flags = 0;
    if (operation.wants_value()) flags |= wire::kWantsValue;
    if (operation.broadcasts()) flags |= wire::kAssign;
    if (operation.source.empty()) flags |= wire::kAbsent;
    header.flags = static_cast<std::uint16_t>(flags);
    header.dtype = static_cast<std::uint8_t>(tensor.spec.dtype);
    if (!operation.source.empty()) {
      payload = lease(part.current, operation.source.subspan(tensor.cut.offset_of(index),
                                                             tensor.cut.bytes_of_part(index)));
    }
  }
  van_.send(part.link, header, std::move(payload),
            {.tag = operation.id, .deadline = operation.deadline_wanted});
}

// The user's memory travels as it is; the frame keeps the operation alive. The last lease may end
// on the transport's thread, after the operation: it then wakes the loop.
Buffer Exchange::lease(const std::shared_ptr<Operation>& operation,
                       std::span<const std::byte> bytes) {
  operation->leases.fetch_add(1);
  return Buffer::borrow(bytes, [operation, bell = bell_] {
    if (operation->leases.fetch_sub(1) == 1 && operation->awaits_leases.load()) bell->ring();
  });
}

// ---- changes of mind

void Exchange::steer(const std::shared_ptr<Operation>& operation, const detail::Change& change) {
  using Kind = detail::Change::Kind;
  if (operations_.count(operation->id) == 0) return;  // It has ended.
  TensorState& tensor = tensors_.at(operation->tensor.id);
  switch (change.kind) {
    case Kind::kPriority:
    case Kind::kDeadline:
      if (change.kind == Kind::kPriority) operation->priority = change.priority;
      if (change.kind == Kind::kDeadline) operation->deadline_wanted = change.deadline;
      van_.set_urgency(operation->id, {operation->priority, operation->deadline_wanted});
      return;
    case Kind::kPause:
      operation->paused = true;
      van_.pause(operation->id);
      return;
    case Kind::kResume:
      operation->paused = false;
      van_.resume(operation->id);
      for (std::uint32_t part = 0; part < tensor.parts.size(); ++part) {
        advance(tensor, operation->tensor.id, part);
      }
      return;
    case Kind::kCancel:
      cancel(operation);
      return;
  }
}

// Parts that wait for others are given up; so are those whose frames had not left. A pull whose
// question has left keeps its part until the answer has come, so that it is not taken for
// another's.
void Exchange::cancel(const std::shared_ptr<Operation>& operation) {
  if (operation->pushes() && van_.queue().untouched(operation->id) < operation->parts_begun) return;
  operation->cancelled = true;
  operation->paused = false;
  TensorState& tensor = tensors_.at(operation->tensor.id);
  for (const wire::Key& key : van_.cancel(operation->id)) {
    Part& part = tensor.parts[key.part];
    if (part.current != operation) continue;
    part.current = nullptr;
    if (!operation->pushes()) continue;
    --part.rounds;
    part.awaiting_done = false;
  }
  for (Part& part : tensor.parts) std::erase(part.waiting, operation);
  end(operation, {Code::kCancelled, "it was cancelled"});
  for (std::uint32_t part = 0; part < tensor.parts.size(); ++part) {
    advance(tensor, operation->tensor.id, part);
  }
}

// ---- in

void Exchange::on_data(const wire::Header& header, const Buffer& payload) {
  auto found = tensors_.find(header.key.tensor);
  if (found == tensors_.end() || header.key.part >= found->second.parts.size()) return;
  TensorState& tensor = found->second;
  if (!tensor.failed.ok()) return;  // Too late: its operations have ended.
  if (header.kind == wire::Kind::kValue) {
    on_value(tensor, header, payload);
  } else if (header.kind == wire::Kind::kDone) {
    tensor.parts[header.key.part].awaiting_done = false;
    advance(tensor, header.key.tensor, header.key.part);
  }
}

// Slices of a value go straight to where the user wants it.
std::span<std::byte> Exchange::landing(const wire::Header& header) {
  auto found = tensors_.find(header.key.tensor);
  if (found == tensors_.end() || header.key.part >= found->second.parts.size()) return {};
  TensorState& tensor = found->second;
  const std::shared_ptr<Operation>& operation = tensor.parts[header.key.part].current;
  if (header.kind != wire::Kind::kValue || operation == nullptr || !operation->wants_value() ||
      operation->cancelled || header.dtype != static_cast<std::uint8_t>(tensor.spec.dtype)) {
    return {};
  }
  return operation->target.subspan(tensor.cut.offset_of(header.key.part),
                                   tensor.cut.bytes_of_part(header.key.part));
}

void Exchange::on_value(TensorState& tensor, const wire::Header& header, const Buffer& payload) {
  const std::uint32_t index = header.key.part;
  Part& part = tensor.parts[index];
  if (part.current == nullptr || !part.current->wants_value()) return;
  if (part.current->cancelled) {
    part.last_version = header.version;
    return end_part(tensor, header.key);
  }
  const std::size_t bytes = tensor.cut.bytes_of_part(index);
  if (payload.size() != bytes || header.dtype != static_cast<std::uint8_t>(tensor.spec.dtype)) {
    fail_tensor(header.key.tensor,
                {Code::kMalformed, fmt::format("tensor '{}', part {}: a value of {} bytes came, "
                                               "wanted {}",
                                               tensor.spec.name, index, payload.size(), bytes)});
    return;
  }
  Operation& operation = *part.current;
  std::byte* target = operation.target.data() + tensor.cut.offset_of(index);
  if (target != payload.data())
    std::memcpy(target, payload.data(), bytes);  // Else it landed there.
  const std::uint64_t known = part.last_version + (operation.pushes() ? 1 : 0);
  const ValueInfo info{.version = header.version,
                       .staleness = header.version > known ? header.version - known : 0,
                       .applied = header.own_applied,
                       .slowest = header.base,
                       .spread = header.spread};
  operation.info = operation.any_info ? detail::combine(operation.info, info) : info;
  operation.any_info = true;
  part.last_version = header.version;
  end_part(tensor, header.key);
}

void Exchange::on_acked(const wire::Key& key) {
  auto found = tensors_.find(key.tensor);
  if (found == tensors_.end() || key.part >= found->second.parts.size()) return;
  Part& part = found->second.parts[key.part];
  if (part.current == nullptr || part.current->kind != Operation::Kind::kPush) return;
  end_part(found->second, key);
}

void Exchange::end_part(TensorState& tensor, const wire::Key& key) {
  const std::shared_ptr<Operation> operation =
      std::exchange(tensor.parts[key.part].current, nullptr);
  if (!operation->cancelled && --operation->parts_left == 0) end(operation, {});
  advance(tensor, key.tensor, key.part);
}

// ---- ends

void Exchange::end(const std::shared_ptr<Operation>& operation, const Status& status) {
  operations_.erase(operation->id);
  operation->awaits_leases.store(true);
  if (operation->leases.load() > 0) {  // Even if the far end says done.
    lingering_.push_back({operation, status, clock_.now()});
    next_check_ = clock_.now() + kLingerCheck;
    return;
  }
  if (status.ok()) {
    operation->ticket->end_one(status, operation->info);
    return;
  }
  const TensorSpec* spec = find(operation->tensor.id);
  const std::string what =
      fmt::format("{} '{}'", name_of(operation->kind), spec == nullptr ? "?" : spec->name);
  operation->ticket->end_one(Status(status).with_operation(what), operation->info);
}

void Exchange::fail_tensor(std::uint32_t id, const Status& why) {
  auto found = tensors_.find(id);
  if (found == tensors_.end() || !found->second.failed.ok()) return;
  found->second.failed = why;
  for (Part& part : found->second.parts) {
    part.current = nullptr;
    part.waiting.clear();
  }
  van_.discard(id);
  std::vector<std::shared_ptr<Operation>> doomed;
  for (const auto& [key, operation] : operations_) {
    if (operation->tensor.id == id) doomed.push_back(operation);
  }
  for (const auto& operation : doomed) end(operation, why);
}

void Exchange::fail_all(const Status& why) {
  for (const auto& [id, tensor] : tensors_) fail_tensor(id, why);
}

void Exchange::tick() {
  const Time now = clock_.now();
  while (!operations_.empty() && operations_.begin()->second->deadline <= now) {
    const Operation& late = *operations_.begin()->second;
    const TensorState& tensor = tensors_.at(late.tensor.id);
    fail_tensor(
        late.tensor.id,
        {Code::kTimeout,
         fmt::format("tensor '{}': not done after {} s, {} of {} parts are missing; the "
                     "outcome is unknown, so the tensor cannot be used further",
                     tensor.spec.name, seconds(timeout_), late.parts_left, tensor.parts.size())});
  }
  if (lingering_.empty()) return;
  next_check_ = now + kLingerCheck;
  for (std::size_t i = 0; i < lingering_.size();) {
    if (lingering_[i].operation->leases.load() > 0) {
      ++i;
      continue;
    }
    const Lingering free = std::move(lingering_[i]);
    lingering_.erase(lingering_.begin() + static_cast<std::ptrdiff_t>(i));
    end(free.operation, free.why);
  }
}

Time Exchange::next_due() const {
  if (!lingering_.empty()) return next_check_;
  return operations_.empty() ? Time::max() : operations_.begin()->second->deadline;
}

bool Exchange::stuck() const {
  return std::any_of(lingering_.begin(), lingering_.end(), [this](const Lingering& lingering) {
    return clock_.now() - lingering.since > kLingerLimit;
  });
}

}  // namespace stretto
