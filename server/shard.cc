// SPDX-License-Identifier: Apache-2.0
// What a shard does with each frame.
#include "server/shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/address.h"
#include "common/log.h"
#include "server/long_waits.h"
#include "server/rule_state.h"
#include "server/share_record.h"
#include "van/greeting.h"

namespace stretto {
namespace {

constexpr std::size_t kMaxCallers = 4096;
constexpr std::size_t kSpareAnswers = 4096;  // Beyond two for each cell: faults, greetings.
constexpr std::size_t kSpareStates = 64;     // The same, for answers with a piece of state.
constexpr Duration kStallWatchEvery = 1s;

Status too_many_waits() {
  return {Code::kResource, "this worker waits for one part more than twice at a time"};
}

Status too_many_answers() {
  return {Code::kResource, "too many answers wait: this worker does not take them"};
}

// What a worker is told of a cell's value.
wire::Header header_about(const wire::Key& key, const Cell& cell, Rank rank) {
  const Consistency& consistency = cell.consistency();
  wire::Header header;
  header.key = key;
  header.version = cell.value().version;
  header.base = consistency.slowest();
  header.own_applied = consistency.applied_of(rank);
  header.spread = consistency.spread();
  header.contributors = cell.value().contributors;
  return header;
}

}  // namespace

Shard::Shard(const Config& config, std::uint32_t index, std::unique_ptr<Transport> transport,
             const Clock& clock)
    : config_(config),
      index_(index),
      clock_(clock),
      van_(std::move(transport), clock),
      trace_(config, van_) {
  if (config.whole_frames) van_.set_whole_frames();
}

Status Shard::start(std::string_view address, const std::string& advertised_host) {
  Result<std::string> bound = van_.listen(address);
  if (!bound.ok()) return bound.status();
  std::string told = *bound;
  if (!advertised_host.empty()) {
    Result<std::string> elsewhere = with_host(*bound, advertised_host);
    if (!elsewhere.ok()) return elsewhere.status();
    told = *std::move(elsewhere);
  }
  membership_.emplace(config_, Membership::Self{.shard = index_, .address = told}, van_, clock_);
  membership_->start();
  return {};
}

void Shard::step(Duration wait) {
  van_.step(*this, wait);
  membership_->tick();
  trace_.tick(*membership_, index_, 0);
  follow_roster();
  const Time now = clock_.now();
  if (pen_.due(now)) pen_.put(metrics(), now);
  if (now >= next_stall_watch_) {
    next_stall_watch_ = now + kStallWatchEvery;
    watch_stalls(now);
  }
}

Time Shard::next_due() const {
  return std::min({van_.next_due(), membership_->next_due(), next_stall_watch_});
}

// ---- who talks to us

void Shard::on_control(LinkId link, const wire::Control& message) {
  if (link == membership_->scheduler_link()) {
    if (!membership_->on_control(link, message)) trace_.on_control(link, message);
    return;
  }
  if (message.has_hello()) {
    if (callers_.size() >= kMaxCallers) {
      van_.refuse(link, {Code::kResource, "too many callers wait for the job to begin"});
    } else if (Status status = check_greeting(message.hello(), config_.token); !status.ok()) {
      van_.refuse(link, status);
    } else {
      callers_.push_back({link, message.hello()});  // Answered once there is a roster.
    }
  } else if (message.has_open()) {
    on_open(link, message.open());
  } else if (message.has_state_request()) {
    on_state_request(link, message.state_request());
  } else if (message.has_leave()) {
    auto known = ranks_.find(link);
    if (known != ranks_.end()) left_[known->second] = true;
  } else if (auto known = ranks_.find(link); message.has_sit_out() && known != ranks_.end()) {
    sitting_out_.note(known->second, message.sit_out());
    for (auto& [id, tensor] : tensors_) {
      for (auto& [part, cell] : tensor.cells) {
        sitting_out_.ask(part, tensor.spec, cell.consistency());
        check_absentee({id, part}, tensor.spec, cell);
      }
    }
  }
}

void Shard::answer(const Caller& caller) {
  const Roster& roster = *membership_->roster();
  const Member* member = roster.find(caller.hello.node());
  if (member == nullptr || member->role != Role::kWorker || member->left) {
    van_.refuse(caller.link, {Code::kRefused,
                              fmt::format("{} says it is node {}, which is no worker of this job",
                                          caller.hello.host(), caller.hello.node())});
    return;
  }
  if (links_[member->rank] != 0) {
    van_.refuse(caller.link,
                {Code::kRefused, fmt::format("{} says it is {}, which is connected already",
                                             caller.hello.host(), member->describe())});
    return;
  }
  links_[member->rank] = caller.link;
  ranks_[caller.link] = member->rank;
  van_.admit(caller.link, member->node);
  wire::Control welcome;
  welcome.mutable_welcome()->set_node(member->node);
  welcome.mutable_welcome()->set_rank(member->rank);
  van_.send_control(caller.link, welcome);
}

void Shard::follow_roster() {
  if (!membership_->roster()) return;
  const Roster& roster = *membership_->roster();
  links_.resize(roster.workers);
  left_.resize(roster.workers);
  told_left_.resize(roster.workers);
  held_.resize(roster.workers);
  for (const Caller& caller : std::exchange(callers_, {})) answer(caller);
  if (roster.epoch == followed_epoch_) return;
  followed_epoch_ = roster.epoch;
  std::vector<Rank> newly_left;
  for (const Member& member : roster.members) {
    if (member.role != Role::kWorker || !member.left || told_left_[member.rank]) continue;
    told_left_[member.rank] = left_[member.rank] = true;
    newly_left.push_back(member.rank);
  }
  if (newly_left.empty()) return;
  for (auto& [id, tensor] : tensors_) {
    for (auto& [part, cell] : tensor.cells) {
      for (const Rank rank : newly_left) cell.consistency().leave(rank);
      tell_ready({id, part}, tensor.spec, cell);
      check_absentee({id, part}, tensor.spec, cell);
    }
  }
}

void Shard::on_broken(LinkId link, const Status& why) {
  if (membership_->on_broken(link, why)) return;
  std::erase_if(callers_, [link](const Caller& caller) { return caller.link == link; });
  auto known = ranks_.find(link);
  if (known == ranks_.end()) return;
  const Rank rank = known->second;
  ranks_.erase(known);
  links_[rank] = 0;
  if (left_[rank]) return;
  const auto& members = membership_->roster()->members;
  auto member = std::find_if(members.begin(), members.end(), [rank](const Member& m) {
    return m.role == Role::kWorker && m.rank == rank;
  });
  if (member == members.end()) return;  // A later roster does not name it.
  const std::string who = member->describe();
  if (why.code() == Code::kResource) {  // What ran out is this process's own.
    return membership_->resign({why.code(), fmt::format("the link to {}: {}", who, why.cause())});
  }
  membership_->report_broken(
      member->node, why,
      Status(Code::kPeerLost, fmt::format("the link to {} broke: {}", who, why.cause()))
          .with_peer(who));
}

// ---- tensors

void Shard::on_open(LinkId link, const wire::Open& open) {
  Result<TensorSpec> spec = from_wire(open.spec());
  if (!spec.ok() || !membership_->roster()) {
    van_.refuse(link, {Code::kMalformed, "an open names a tensor that makes no sense"});
    return;
  }
  auto known = tensors_.find(open.tensor());
  if (known == tensors_.end()) {
    if (Status status = budget_.take(*spec); !status.ok()) {
      van_.refuse(link, status);
      return;
    }
    const Cut cut(*spec, membership_->settings().part_bytes);
    tensors_.emplace(open.tensor(), TensorState{*spec, cut, {}});
    return;
  }
  if (known->second.spec == *spec) return;
  wire::Header about;
  about.key.tensor = open.tensor();
  fault(link, about,
        {Code::kMismatch, fmt::format("tensor '{}': opened as {}, known here as {}", spec->name,
                                      spec->describe(), known->second.spec.describe())});
}

void Shard::on_state_request(LinkId link, const wire::StateRequest& request) {
  if (van_.queue().waiting(link) > 2 * cells_ + kSpareStates) {
    return van_.refuse(link, too_many_answers());
  }
  wire::Header about;
  about.key = {request.tensor(), request.part()};
  wire::Control answer;
  *answer.mutable_state_piece() = answer_to(request, find_cell(about));
  van_.send_control(link, answer);
}

// The cell of a frame's key, made at its first use.
Result<Cell*> Shard::find_cell(const wire::Header& header) {
  auto known = tensors_.find(header.key.tensor);
  if (known == tensors_.end() || header.key.part >= known->second.cut.parts()) {
    return Status(Code::kMalformed, fmt::format("part {} of tensor {} is not known here",
                                                header.key.part, header.key.tensor));
  }
  TensorState& tensor = known->second;
  auto found = tensor.cells.find(header.key.part);
  if (found != tensor.cells.end()) return &found->second;
  const std::size_t bytes = tensor.cut.bytes_of_part(header.key.part);
  if (config_.memory_limit_bytes != 0 && declared_bytes_ + bytes > config_.memory_limit_bytes) {
    return Status(
        Code::kResource,
        fmt::format("tensor '{}' needs {} more bytes, this server may hold {} and holds "
                    "{}; raise STRETTO_MEMORY_LIMIT_MIB or add servers",
                    tensor.spec.name, bytes, config_.memory_limit_bytes, declared_bytes_));
  }
  const TensorOptions& options = tensor.spec.options;
  std::unique_ptr<ops::UpdateRule> rule;
  if (!is_of_its_round(options)) {
    auto made =
        ops::make_update_rule(options.update, tensor.spec.dtype, Cell::dtype_of_sums(tensor.spec),
                              tensor.cut.elements_of(header.key.part));
    if (!made.ok()) return made.status();
    rule = std::move(*made);
  }
  declared_bytes_ += bytes;
  ++cells_;
  const auto workers = static_cast<std::uint32_t>(links_.size());
  auto made = tensor.cells.try_emplace(
      header.key.part, tensor.spec, bytes, workers, std::move(rule),
      [this](std::size_t size) { return van_.allocate(size); }, header.key.part);
  Cell& cell = made.first->second;
  for (Rank rank = 0; rank < workers; ++rank) {
    if (left_[rank]) cell.consistency().leave(rank);
  }
  return &cell;
}

// A worker waits for a part's round, and in a pull for its value: twice at most.
bool Shard::waits_too_often(const Cell& cell, Rank rank) const {
  return cell.waiters().size() > 2 * links_.size() && cell.waiters().count_of(rank) > 2;
}

// ---- shares and values

void Shard::on_data(LinkId link, const wire::Header& header, Buffer payload) {
  auto known = ranks_.find(link);
  if (known == ranks_.end()) return;
  // A worker has one operation a part under way: it can be owed no more than this.
  if (van_.queue().waiting(link) > 2 * cells_ + kSpareAnswers) {
    van_.refuse(link, too_many_answers());
  } else if (header.kind == wire::Kind::kPush) {
    on_push(link, known->second, header, std::move(payload));
  } else if (header.kind == wire::Kind::kPull) {
    on_pull(link, known->second, header);
  } else {
    van_.refuse(link, {Code::kMalformed, "a server takes pushes and pulls only"});
  }
}

void Shard::on_push(LinkId link, Rank rank, const wire::Header& header, Buffer payload) {
  Result<Cell*> found = find_cell(header);
  if (!found.ok()) return fault(link, header, found.status());
  Cell& cell = **found;
  if (waits_too_often(cell, rank)) return van_.refuse(link, too_many_waits());
  const TensorSpec& spec = tensors_.at(header.key.tensor).spec;
  if (payload.size() != 0 && header.dtype != static_cast<std::uint8_t>(spec.dtype)) {
    const Status status(Code::kMismatch, fmt::format("tensor '{}' is {}, a share of {} came",
                                                     spec.name, name_of(spec.dtype),
                                                     name_of(static_cast<Dtype>(header.dtype))));
    return disagree(link, header, cell, status);
  }
  if (!cell.doomed().ok()) return fault(link, header, cell.doomed());
  if (cell.consistency().repeated(rank, header.version)) {  // It counted once, and that is enough.
    van_.ack(link, header.push_sequence, true);
    return;
  }
  const bool assign = (header.flags & wire::kAssign) != 0;
  const bool wants_value = (header.flags & wire::kWantsValue) != 0;
  Cell::Waiter waiter{.rank = rank,
                      .priority = header.priority,
                      .deadline = van_.deadline_of(header),
                      .wants_value = wants_value,
                      .pushed = true,
                      .gate = {},
                      .since = trace_.tracer().now(clock_)};
  const std::size_t bytes = payload.size();
  const std::uint64_t version = cell.value().version;
  const Time first = cell.waiters().empty() ? waiter.since : cell.waiters().oldest().since;
  const bool opens = !cell.consistency().open();
  Status status = cell.contribute({.rank = rank,
                                   .round = header.version,
                                   .assign = assign,
                                   .absent = (header.flags & wire::kAbsent) != 0,
                                   .root = header.base,
                                   .codec = static_cast<Codec>(header.codec),
                                   .bytes = std::move(payload)},
                                  &waiter.gate);
  if (status.code() == Code::kMismatch) return disagree(link, header, cell, status);
  if (!status.ok()) return fault(link, header, status);
  ++shares_;
  const bool finished = cell.value().version != version;
  if (finished && cell.consistency().collects(assign) && held_.note(rank, first, waiter.since)) {
    membership_->set_held(rank, held_.of(rank));
  }
  const bool updates = cell.has_rule() && finished;
  if (trace_.tracer().on()) note_share(header, bytes, updates, waiter.since);
  if (wants_value || cell.consistency().collects(assign)) cell.wait(waiter);
  van_.ack(link, header.push_sequence, !wants_value);
  tell_ready(header.key, spec, cell);
  check_absentee(header.key, spec, cell);
  if (opens) sitting_out_.ask(header.key.part, spec, cell.consistency());
}

void Shard::note_share(const wire::Header& header, std::size_t bytes, bool updates, Time begin) {
  Tracer& tracer = trace_.tracer();
  tracer.worked(header.codec == 0 ? bytes : std::numeric_limits<std::size_t>::max());
  const TraceRecord record = record_of_share(header, bytes, updates, begin, tracer.now(clock_));
  tracer.note(TraceNote{record, van_.take_arrival()});
}

void Shard::on_pull(LinkId link, Rank rank, const wire::Header& header) {
  Result<Cell*> found = find_cell(header);
  if (!found.ok()) return fault(link, header, found.status());
  Cell& cell = **found;
  if ((header.flags & wire::kProbe) != 0) return on_probe(link, rank, header, cell);
  if (waits_too_often(cell, rank)) return van_.refuse(link, too_many_waits());
  cell.wait({.rank = rank,
             .priority = header.priority,
             .deadline = van_.deadline_of(header),
             .wants_value = true,
             .pushed = false,
             .gate = cell.consistency().gate_of_pull(header.version),
             .since = clock_.now()});
  const TensorSpec& spec = tensors_.at(header.key.tensor).spec;
  tell_ready(header.key, spec, cell);
  check_absentee(header.key, spec, cell);
}

// What is known of a part's value, without its bytes and without waiting.
void Shard::on_probe(LinkId link, Rank rank, const wire::Header& header, const Cell& cell) {
  wire::Header answer = header_about(header.key, cell, rank);
  answer.kind = wire::Kind::kDone;
  answer.flags = wire::kProbe;
  answer.priority = header.priority;
  van_.send(link, answer, Buffer(), {.tag = 0, .deadline = Time::max(), .bulk = false});
}

void Shard::tell_ready(const wire::Key& key, const TensorSpec& spec, Cell& cell) {
  for (const Cell::Waiter& waiter : cell.take_ready()) tell(key, spec, cell, waiter);
}

void Shard::tell(const wire::Key& key, const TensorSpec& spec, const Cell& cell,
                 const Cell::Waiter& waiter) {
  wire::Header header = header_about(key, cell, waiter.rank);
  header.kind = waiter.wants_value ? wire::Kind::kValue : wire::Kind::kDone;
  header.dtype = waiter.wants_value ? static_cast<std::uint8_t>(spec.dtype) : std::uint8_t{0};
  if (waiter.wants_value) header.codec = static_cast<std::uint8_t>(cell.value().codec);
  if (waiter.wants_value && waiter.pushed) header.flags = wire::kWantsValue;
  header.priority = waiter.priority;
  van_.send(links_[waiter.rank], header, waiter.wants_value ? cell.value().bytes : Buffer(),
            {.tag = 0, .deadline = waiter.deadline, .bulk = spec.options.bulk});
}

// ---- errors and stalls

void Shard::fault(LinkId link, const wire::Header& header, const Status& why) {
  wire::Control message = fault_message(why);
  message.mutable_fault()->set_tensor(header.key.tensor);
  message.mutable_fault()->set_part(header.key.part);
  message.mutable_fault()->set_round(header.version);
  van_.send_control(link, message);
}

// The others of this round disagree with the sender just as much: those who wait, and those who
// have yet to come, for to the first two the tensor has failed.
void Shard::disagree(LinkId link, const wire::Header& header, Cell& cell, const Status& why) {
  fault(link, header, why);
  fail_waiters(header.key, tensors_.at(header.key.tensor).spec, cell, why);
  cell.doom(why);
}

void Shard::fail_waiters(const wire::Key& key, const TensorSpec& spec, Cell& cell,
                         const Status& why) {
  wire::Header about;
  about.key = key;
  about.version = cell.consistency().version() + 1;
  for (const Cell::Waiter& waiter : cell.take_all()) {
    fault(links_[waiter.rank], about,
          Status(why.code(),
                 fmt::format("tensor '{}', round {}: {}", spec.name, about.version, why.cause()))
              .with_peer(why.peer()));
  }
}

// A collected round that lacks somebody who has left can never finish, nor can what those who sit
// out take no part in: waiters hear it now.
void Shard::check_absentee(const wire::Key& key, const TensorSpec& spec, Cell& cell) {
  if (cell.waiters().empty()) return;
  if (Status why = sitting_out_.in_vain(cell.consistency()); !why.ok()) {
    fail_waiters(key, spec, cell, why);
    return cell.doom(why);
  }
  const bool collecting = has_rounds(spec.options.mode) || cell.consistency().open();
  const std::int64_t absentee = cell.consistency().absentee();
  if (!collecting || absentee < 0) return;
  fail_waiters(key, spec, cell,
               Status(Code::kPeerLost, fmt::format("worker {} has left the job", absentee))
                   .with_peer(fmt::format("worker {}", absentee)));
}

metrics::Metrics Shard::metrics() const {
  using metrics::Type;
  const metrics::Labels labels = {{"role", "server"},
                                  {"rank", std::to_string(membership_->rank())},
                                  {"shard", std::to_string(index_)}};
  metrics::Metrics made = metrics_of(van_, labels);
  const metrics::Adder add(made, labels);
  add("stretto_shares_total", Type::kCounter, static_cast<double>(shares_),
      "Shares that have been summed or applied.");
  add("stretto_parts", Type::kGauge, static_cast<double>(cells_), "Parts that live here.");
  add("stretto_parts_bytes", Type::kGauge, static_cast<double>(declared_bytes_),
      "Bytes of the parts that live here.");
  add("stretto_heartbeats_total", Type::kCounter, static_cast<double>(membership_->heartbeats()),
      "Heartbeats sent to the scheduler.");
  for (Rank rank = 0; rank < held_.workers(); ++rank) {
    add("stretto_rounds_held_seconds_total", Type::kCounter, seconds(held_.of(rank)),
        "Time that rounds had waited for this worker's shares when the last one came.");
    made.back().labels.emplace_back("worker", std::to_string(rank));
  }
  return made;
}

void Shard::watch_stalls(Time now) {
  const JobSettings& settings = membership_->settings();
  const bool may_warn = now - last_stall_warning_ >= settings.stall_warn;
  const Duration worth_a_word = std::min(settings.stall_warn, settings.stall_error);
  LongWaits waits;
  for (auto& [id, tensor] : tensors_) {
    for (auto& [part, cell] : tensor.cells) {
      if (cell.waiters().empty()) continue;
      const Duration age = now - cell.waiters().oldest().since;
      if (age < LongWaits::kLong && age < worth_a_word) continue;
      const std::vector<Rank> awaited = cell.consistency().awaited();
      waits.add(tensor.spec.name, cell.consistency().version() + 1, age, awaited);
      if (age < worth_a_word) continue;
      const std::string missing = list_of(awaited);
      if (age >= settings.stall_error) {
        fail_waiters({id, part}, tensor.spec, cell,
                     Status(Code::kTimeout,
                            fmt::format("waited {:.0f} s for worker {}", seconds(age), missing))
                         .with_peer(fmt::format("worker {}", missing)));
      } else if (may_warn) {
        last_stall_warning_ = now;
        log(Level::kWarning, "tensor '{}' part {}: round {} has waited {:.0f} s for worker {}",
            tensor.spec.name, part, cell.consistency().version() + 1, seconds(age), missing);
      }
    }
  }
  membership_->set_long_waits(waits.told());
}

}  // namespace stretto
