// SPDX-License-Identifier: Apache-2.0
// A part does one thing at a time in each lane: its operations wait in the order in which the user
// began them. So a worker has at most one open round a part, and memory at both ends is bounded.
#include "worker/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr std::int32_t kMostUrgent = std::numeric_limits<std::int32_t>::max();

// Versions that are new since the last value, but for those that are our own rounds.
std::uint64_t staleness_of(const wire::Header& header, std::uint64_t version,
                           std::uint64_t applied) {
  const std::uint64_t all = header.version - std::min(header.version, version);
  const std::uint64_t own = header.own_applied - std::min(header.own_applied, applied);
  return all - std::min(all, own);
}

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
    case Operation::Kind::kProbe:
      return "probe";
  }
  return "unknown";
}

// ---- tensors

void Exchange::add_tensor(std::uint32_t id, const TensorSpec& spec, const Cut& cut,
                          std::vector<LinkId> links, Rank rank) {
  auto [found, is_new] = tensors_.try_emplace(id, TensorState{spec, cut, {}, {}, {}});
  if (!is_new) return;
  ids_[spec.name] = id;
  TensorState& tensor = found->second;
  tensor.parts.resize(links.size());
  std::set<LinkId> probed;
  for (std::uint32_t part = 0; part < links.size(); ++part) {
    tensor.parts[part].link = links[part];
    if (spec.options.codec && spec.options.codec->lossy()) {
      tensor.parts[part].coder = std::make_shared<PartCoder>(spec, part, rank);
    }
    if (probed.insert(links[part]).second) tensor.probed.push_back(part);
  }
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

std::vector<LinkId> Exchange::links_of(std::uint32_t id) const {
  std::vector<LinkId> links;
  for (const Part& part : tensors_.at(id).parts) links.push_back(part.link);
  return links;
}

// ---- out

// Parts are cut, and the user's memory is reached, by what was declared. A Tensor is a struct that
// anybody can fill in, or keep longer than the worker that made it.
Status Exchange::check_tensor(const Tensor& tensor) const {
  const TensorSpec* declared = find(tensor.id);
  if (declared == nullptr) {
    return {Code::kInvalidArgument,
            fmt::format("tensor {} was not declared by this worker", tensor.id)};
  }
  if (tensor.elements == declared->elements && tensor.dtype == declared->dtype) return {};
  return {
      Code::kInvalidArgument,
      fmt::format("tensor {} is given as {}[{}], and was declared by this worker as {}[{}]; use "
                  "the Tensor that its declare() gave",
                  tensor.id, name_of(tensor.dtype), tensor.elements, name_of(declared->dtype),
                  declared->elements)};
}

void Exchange::start(const std::shared_ptr<Operation>& operation) {
  auto found = tensors_.find(operation->tensor.id);
  operation->id = next_id_++;
  operation->deadline = after(clock_.now(), timeout_);
  Status refused = check_tensor(operation->tensor);
  if (refused.ok()) refused = found->second.failed;
  if (!refused.ok() || found->second.parts.empty()) {
    end(operation, refused);
    return;
  }
  TensorState& tensor = found->second;
  const LaneName lane = lane_of(tensor, *operation);
  operation->place = operations_.insert(operations_.end(), operation);
  operation->under_way = true;
  const auto all = static_cast<std::uint32_t>(tensor.parts.size());
  operation->parts_left = lane == kProbes ? static_cast<std::uint32_t>(tensor.probed.size()) : all;
  for (std::uint32_t i = 0; i < operation->parts_left; ++i) {
    const std::uint32_t index = lane == kProbes ? tensor.probed[i] : i;
    Part& part = tensor.parts[index];
    if (part.lanes[lane].waiting.empty() && part.may_begin(part.lanes[lane], *operation)) {
      begin(tensor, operation->tensor.id, index, lane, operation);
    } else {
      part.lanes[lane].waiting.push_back(operation);
    }
  }
}

Exchange::LaneName Exchange::lane_of(const TensorState& tensor, const Operation& operation) {
  if (operation.kind == Operation::Kind::kProbe) return kProbes;
  const bool apart = tensor.spec.options.mode == Mode::kEagerAsync;
  return apart && !operation.pushes() ? kPulls : kShares;
}

// The lane of the operation that a value or done answers.
Exchange::LaneName Exchange::lane_of(const TensorState& tensor, const wire::Header& header) {
  if ((header.flags & wire::kProbe) != 0) return kProbes;
  const bool apart = tensor.spec.options.mode == Mode::kEagerAsync;
  const bool answers_pull =
      header.kind == wire::Kind::kValue && (header.flags & wire::kWantsValue) == 0;
  return apart && answers_pull ? kPulls : kShares;
}

// A pull may go while our last round is still open at the server; another share may not.
bool Exchange::Part::may_begin(const Lane& lane, const Operation& operation) const {
  if (lane.current != nullptr || operation.paused) return false;
  return operation.pushes() ? !awaiting_done : !lane.gave_up;
}

// Begins what waits for a part, if the part is free for it.
void Exchange::advance(TensorState& tensor, std::uint32_t id, std::uint32_t index, LaneName name) {
  Part& part = tensor.parts[index];
  Lane& lane = part.lanes[name];
  if (lane.waiting.empty() || !part.may_begin(lane, *lane.waiting.front())) return;
  const std::shared_ptr<Operation> next = std::move(lane.waiting.front());
  lane.waiting.pop_front();
  begin(tensor, id, index, name, next);
}

void Exchange::begin(TensorState& tensor, std::uint32_t id, std::uint32_t index, LaneName name,
                     const std::shared_ptr<Operation>& operation) {
  Part& part = tensor.parts[index];
  Lane& lane = part.lanes[name];
  lane.current = operation;
  if (operation->pushes()) {
    most_rounds_ = std::max(most_rounds_, ++part.rounds);
    part.awaiting_done = !lane.current->wants_value() && has_rounds(tensor.spec.options.mode);
  }
  send(tensor, id, index, lane.current);
}

// Whatever waits behind the operation, or with it, for any part.
void Exchange::advance(TensorState& tensor, const Operation& operation) {
  const LaneName lane = lane_of(tensor, operation);
  for (std::uint32_t part = 0; part < tensor.parts.size(); ++part) {
    advance(tensor, operation.tensor.id, part, lane);
  }
}

wire::Header Exchange::header_of(const Part& part, const wire::Key& key,
                                 const Operation& operation) const {
  wire::Header header;
  header.kind = operation.pushes() ? wire::Kind::kPush : wire::Kind::kPull;
  header.key = key;
  header.priority = operation.priority;
  header.version = part.rounds;
  header.base = part.last_version;
  unsigned flags = 0;
  if (operation.kind == Operation::Kind::kProbe) {
    flags = wire::kProbe;
    header.priority = kMostUrgent;
  } else if (operation.pushes()) {
    if (operation.wants_value()) flags |= wire::kWantsValue;
    if (operation.broadcasts()) {
      flags |= wire::kAssign;
      header.base = operation.root;
    }
    if (operation.source.empty()) flags |= wire::kAbsent;
  }
  header.flags = static_cast<std::uint16_t>(flags);
  return header;
}

void Exchange::send(TensorState& tensor, std::uint32_t id, std::uint32_t index,
                    const std::shared_ptr<Operation>& operation) {
  const Part& part = tensor.parts[index];
  wire::Header header = header_of(part, {id, index}, *operation);
  if (lane_of(tensor, *operation) == kPulls) header.version = 0;  // Whatever is there.
  ++operation->parts_begun;
  Buffer payload;
  if (operation->pushes()) {
    header.dtype = static_cast<std::uint8_t>(tensor.spec.dtype);
    if (part.coder != nullptr && !operation->broadcasts() && !operation->source.empty()) {
      return encode(tensor, header, operation);
    }
    if (part.coder != nullptr && operation->broadcasts()) part.coder->reset();
    if (!operation->source.empty()) {
      payload = lease(operation, operation->source.subspan(tensor.cut.offset_of(index),
                                                           tensor.cut.bytes_of_part(index)));
    }
  }
  van_.send(part.link, header, std::move(payload),
            {.tag = operation->id,
             .deadline = operation->deadline_wanted,
             .bulk = tensor.spec.options.bulk});
}

// The user's memory travels as it is; the frame keeps the operation alive. The last lease may end
// on the transport's thread, after the operation: it then wakes the loop.
Buffer Exchange::lease(const std::shared_ptr<Operation>& operation,
                       std::span<const std::byte> bytes) {
  operation->leases.fetch_add(1);
  return Buffer::borrow(bytes, [operation, waker = van_.waker()] {
    if (operation->leases.fetch_sub(1) == 1 && operation->awaits_leases.load()) waker->wake();
  });
}

// ---- in

void Exchange::on_data(const wire::Header& header, const Buffer& payload) {
  auto found = tensors_.find(header.key.tensor);
  if (found == tensors_.end() || header.key.part >= found->second.parts.size()) return;
  TensorState& tensor = found->second;
  if (!tensor.failed.ok()) return;  // Too late: its operations have ended.
  if (header.kind == wire::Kind::kValue) {
    on_value(tensor, header, payload);
  } else if (header.kind == wire::Kind::kDone && (header.flags & wire::kProbe) != 0) {
    on_probe(tensor, header);
  } else if (header.kind == wire::Kind::kDone) {
    tensor.parts[header.key.part].awaiting_done = false;
    advance(tensor, header.key.tensor, header.key.part, kShares);
  }
}

// Slices of a value go straight to where the user wants it.
std::span<std::byte> Exchange::landing(const wire::Header& header) {
  auto found = tensors_.find(header.key.tensor);
  if (found == tensors_.end() || header.key.part >= found->second.parts.size()) return {};
  TensorState& tensor = found->second;
  const Lane& lane = tensor.parts[header.key.part].lanes[lane_of(tensor, header)];
  const std::shared_ptr<Operation>& operation = lane.current;
  if (header.kind != wire::Kind::kValue || operation == nullptr || !operation->wants_value() ||
      lane.answers_given_up(header) ||
      header.dtype != static_cast<std::uint8_t>(tensor.spec.dtype) || header.codec != 0 ||
      tensor.parts[header.key.part].encoding || tensor.parts[header.key.part].decoding) {
    return {};
  }
  return operation->target.subspan(tensor.cut.offset_of(header.key.part),
                                   tensor.cut.bytes_of_part(header.key.part));
}

void Exchange::on_value(TensorState& tensor, const wire::Header& header, const Buffer& payload) {
  const std::uint32_t index = header.key.part;
  Part& part = tensor.parts[index];
  const LaneName lane = lane_of(tensor, header);
  if (part.lanes[lane].answers_given_up(header)) {
    take_given_up(tensor, header.key, lane);
    return;
  }
  const std::shared_ptr<Operation>& current = part.lanes[lane].current;
  if (current == nullptr || !current->wants_value() || part.decoding) return;
  if (part.encoding && lane == kShares) {
    return fail_tensor(header.key.tensor,
                       {Code::kMalformed,
                        fmt::format("tensor '{}', part {}: a value came before our share had left",
                                    tensor.spec.name, index)});
  }
  if (Status status = check_value(tensor, header, payload); !status.ok()) {
    return fail_tensor(header.key.tensor, status);
  }
  if (header.codec != 0) return decode(tensor, header, payload);
  std::byte* target = current->target.data() + tensor.cut.offset_of(index);
  if (target != payload.data()) {  // Else it landed there.
    std::memcpy(target, payload.data(), payload.size());
    if (tracer_ != nullptr) tracer_->worked(payload.size());
  }
  take_value(tensor, header);
}

// The value is in the target, or nobody wants it any more.
void Exchange::take_value(TensorState& tensor, const wire::Header& header) {
  const std::uint32_t index = header.key.part;
  Part& part = tensor.parts[index];
  const LaneName lane = lane_of(tensor, header);
  Operation& operation = *part.lanes[lane].current;
  if (operation.cancelled) {
    part.last_version = header.version;
    part.last_applied = header.own_applied;
    return end_part(tensor, header.key, lane);
  }
  const std::size_t bytes = tensor.cut.bytes_of_part(index);
  const std::size_t offset = tensor.cut.offset_of(index);
  note(part, header, operation);
  if (is_eager(tensor.spec.options.mode)) {
    operation.parts.push_back({header.key.tensor, offset, bytes, info_of(part, header)});
  }
  last_staleness_ = staleness_of(header, part.last_version, part.last_applied);
  staleness_.add(last_staleness_);
  part.last_version = header.version;
  part.last_applied = header.own_applied;
  end_part(tensor, header.key, lane);
}

void Exchange::on_probe(TensorState& tensor, const wire::Header& header) {
  if (take_given_up(tensor, header.key, kProbes)) return;
  const Part& part = tensor.parts[header.key.part];
  if (part.lanes[kProbes].current == nullptr) return;
  note(part, header, *part.lanes[kProbes].current);
  end_part(tensor, header.key, kProbes);
}

// What the header tells of the value, since the one before.
ValueInfo Exchange::info_of(const Part& part, const wire::Header& header) {
  return {.version = header.version,
          .staleness = staleness_of(header, part.last_version, part.last_applied),
          .applied = header.own_applied,
          .slowest = header.base,
          .spread = header.spread};
}

void Exchange::note(const Part& part, const wire::Header& header, Operation& operation) {
  const ValueInfo info = info_of(part, header);
  operation.info = operation.any_info ? detail::combine(operation.info, info) : info;
  operation.any_info = true;
}

void Exchange::on_acked(const wire::Key& key) {
  auto found = tensors_.find(key.tensor);
  if (found == tensors_.end() || key.part >= found->second.parts.size()) return;
  free_encoding(found->second, key);
  const Lane& lane = found->second.parts[key.part].lanes[kShares];
  if (lane.current == nullptr || lane.current->kind != Operation::Kind::kPush) return;
  end_part(found->second, key, kShares);
}

void Exchange::end_part(TensorState& tensor, const wire::Key& key, LaneName lane) {
  if (lane == kShares) free_encoding(tensor, key);
  const std::shared_ptr<Operation> operation =
      std::exchange(tensor.parts[key.part].lanes[lane].current, nullptr);
  if (!operation->cancelled && --operation->parts_left == 0) end(operation, {});
  advance(tensor, key.tensor, key.part, lane);
}

// ---- ends

void Exchange::end(const std::shared_ptr<Operation>& operation, const Status& status) {
  if (std::exchange(operation->under_way, false)) operations_.erase(operation->place);
  operation->awaits_leases.store(true);
  if (operation->leases.load() > 0) {  // Even if the far end says done.
    return lingering_.add(operation, status, clock_.now());
  }
  if (status.ok()) {
    operation->ticket->end_one(status, operation->info, std::move(operation->parts));
    if (tracer_ != nullptr && tracer_->on()) note_end(*operation);
    return;
  }
  operation->ticket->end_one(with_elsewhere(status).with_operation(describe(*operation)),
                             operation->info);
}

std::string Exchange::describe(const Operation& operation) const {
  const TensorSpec* spec = find(operation.tensor.id);
  return fmt::format("{} '{}'", name_of(operation.kind), spec == nullptr ? "?" : spec->name);
}

std::string Exchange::oldest(Time before) const {
  if (operations_.empty() || operations_.front()->deadline > after(before, timeout_)) return {};
  return describe(*operations_.front());
}

Status Exchange::with_elsewhere(const Status& why) const {
  if (why.code() != Code::kTimeout || elsewhere_.empty()) return why;
  return Status(why.code(), fmt::format("{}; meanwhile {}", why.cause(), elsewhere_))
      .with_peer(why.peer())
      .with_operation(why.operation());
}

// The operation, and the wait for its ticket if that has ended by it and somebody waited.
void Exchange::note_end(const Operation& operation) const {
  TraceRecord record;
  record.begin_ns = trace_time(operation.deadline - timeout_);
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

void Exchange::fail_tensor(std::uint32_t id, const Status& why) {
  auto found = tensors_.find(id);
  if (found == tensors_.end() || !found->second.failed.ok()) return;
  mark_failed(found->second, why);
  std::vector<std::shared_ptr<Operation>> doomed;
  for (const std::shared_ptr<Operation>& operation : operations_) {
    if (operation->tensor.id == id) doomed.push_back(operation);
  }
  for (const auto& operation : doomed) give_up(operation, why);
}

void Exchange::mark_failed(TensorState& tensor, const Status& why) {
  tensor.failed = why;
  for (Part& part : tensor.parts) part.lanes = {};
}

// An operation of a tensor that has failed.
void Exchange::give_up(const std::shared_ptr<Operation>& operation, const Status& why) {
  van_.cancel(operation->id);
  operation->to_encode.clear();
  coder_->discard(operation->id);
  end(operation, why);
}

void Exchange::end_all(const Status& why) {
  coder_->stop();
  for (auto& [id, tensor] : tensors_) {
    if (tensor.failed.ok()) mark_failed(tensor, why);
  }
  const std::vector<std::shared_ptr<Operation>> doomed(operations_.begin(), operations_.end());
  for (const auto& operation : doomed) give_up(operation, why);
  for (const auto& [operation, status] : lingering_.take_free(clock_.now())) end(operation, status);
}

void Exchange::tick() {
  const Time now = clock_.now();
  while (!operations_.empty() && operations_.front()->deadline <= now) {
    const Operation& late = *operations_.front();
    const TensorState& tensor = tensors_.at(late.tensor.id);
    fail_tensor(
        late.tensor.id,
        {Code::kTimeout,
         fmt::format("tensor '{}': not done after {} s, {} of {} parts are missing; the "
                     "outcome is unknown, so the tensor cannot be used further",
                     tensor.spec.name, seconds(timeout_), late.parts_left, tensor.parts.size())});
  }
  if (lingering_.empty()) return;
  for (const auto& [operation, why] : lingering_.take_free(now)) end(operation, why);
}

Time Exchange::next_due() const {
  if (!lingering_.empty()) return lingering_.next_due();
  return operations_.empty() ? Time::max() : operations_.front()->deadline;
}

// ---- rounds

std::uint64_t Exchange::Part::rounds_begun() const {
  return rounds + static_cast<std::uint64_t>(std::ranges::count_if(
                      lanes[kShares].waiting, [](const auto& next) { return next->pushes(); }));
}

std::uint64_t Exchange::rounds_begun(std::uint32_t tensor, std::uint32_t part) const {
  auto found = tensors_.find(tensor);
  const bool known = found != tensors_.end() && part < found->second.parts.size();
  return known ? found->second.parts[part].rounds_begun() : 0;
}

bool Exchange::settled() const {
  return idle() && std::ranges::all_of(tensors_, [](const auto& known) {
           const TensorState& tensor = known.second;
           return !tensor.failed.ok() || std::ranges::none_of(tensor.parts, &Part::awaiting_done);
         });
}

}  // namespace stretto
