// SPDX-License-Identifier: Apache-2.0
// Admits requests, sends them out, and assigns answers to them.
#include "worker/request_dispatcher.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "worker/peer_state/exchange_selection.h"

namespace stretto {
namespace {

constexpr Duration kHindsight = 1s;

Time long_ago(const Clock& clock, const MembershipClient& membership) {
  return clock.now() - membership.settings().heartbeat;
}

// A shard has replaced another one, with this link.
void settle(const ShardLinks::Moved& moved, Van& van, Tensors& tensors, EmptyContributor& stand_in,
            OptimizerStateTransfer& states, ServerExchange& servers,
            const std::vector<control::TakeIn>& newcomers) {
  for (const control::TakeIn& said : newcomers) van.send_control(moved.to, said);
  const std::vector<std::uint32_t> ids = tensors.move(moved.from, moved.to);
  for (const std::uint32_t id : ids) van.send_control(moved.to, open_of(*tensors.find(id)));
  stand_in.tell_again();
  states.move(moved.from, moved.to);
  for (const std::uint32_t id : ids) servers.send_again(*tensors.find(id), moved.to);
}

// The arguments outlive the result.
CheckpointCalls::Ways ways_of_checkpoints(BarrierCalls& barriers, Van& van,
                                          const MembershipClient& membership) {
  return {.enter = [&barriers](
                       std::uint64_t step, std::uint64_t alike,
                       BarrierCalls::Cut cut) { barriers.checkpoint(step, alike, std::move(cut)); },
          .awaits_cut = [&barriers] { return barriers.awaits_cut(); },
          .tell_scheduler =
              [&van, &membership](const control::CheckpointSaved& saved) {
                van.send_control(membership.scheduler().id(), saved);
              },
          .ask =
              [&van, &membership](const control::CheckpointEnded& ended) {
                van.send_control(membership.scheduler().id(), ended);
              },
          .answer =
              [&van, &membership](const control::AtStep& said) {
                van.send_control(membership.scheduler().id(), said);
              }};
}

}  // namespace

RequestDispatcher::RequestDispatcher(const Config& config, const Clock& clock, Van& van,
                                     const MembershipClient& membership, ShardLinks& shards,
                                     TraceAgent& trace, std::unique_ptr<CodecExecutor> coder)
    : clock_(clock),
      van_(van),
      membership_(membership),
      shards_(shards),
      exchange_(van, clock, tensors_, config.operation_timeout, std::move(coder), config.token),
      states_(van, clock, config.operation_timeout),
      declarations_(
          config, clock, shards, tensors_,
          {.tell_scheduler =
               [this](const control::Declare& declare) {
                 van_.send_control(membership_.scheduler().id(), declare);
               },
           .tell_shard = [this](LinkId link,
                                const control::Open& open) { van_.send_control(link, open); },
           .named = [&trace](std::uint32_t tensor,
                             const std::string& name) { trace.name(tensor, name); },
           .settle =
               [this](TensorSpec spec, const std::vector<Rank>& group) {
                 const std::optional<Roster>& roster = membership_.roster();
                 if (!roster) return spec;
                 return settled(std::move(spec), *roster, membership_.node(), group);
               },
           .fits =
               [this](const TensorSpec& spec) {
                 const std::optional<Roster>& roster = membership_.roster();
                 return roster ? fits(spec, *roster) : Status();
               },
           .join_workers =
               [this](TensorState& tensor, const Roster& roster, const std::vector<Rank>& group) {
                 return exchange_.members().add(tensor, roster,
                                                {membership_.node(), steps_.gate().at()}, group);
               }}),
      stand_in_(tensors_, exchange_,
                {.declare = [this](const TensorSpec& spec,
                                   Declared done) { declare(spec, std::move(done)); },
                 .tell = [&shards](const control::SitOut& said) { shards.tell_all(said); }}),
      barriers_(clock, config.operation_timeout, stand_in_,
                [this](const control::Barrier& barrier) {
                  control::Barrier told = barrier;
                  if (!told.opened) told.step = steps_.gate().count()->begun();
                  van_.send_control(membership_.scheduler().id(), told);
                }),
      checkpoints_(clock, config.operation_timeout,
                   ways_of_checkpoints(barriers_, van, membership)),
      steps_(clock, config.operation_timeout, config.rendezvous_timeout,
             {.gate = {.tell_scheduler =
                           [this](const control::AtStep& said) {
                             van_.send_control(membership_.scheduler().id(), said);
                           },
                       .tell_shards =
                           [this, &shards](const control::TakeIn& said) {
                             shards.tell_all(said);
                             // All of its rounds include the joining workers.
                             exchange_.members().follow(*membership_.roster(),
                                                        {membership_.node(), said.step});
                           },
                       .is_at_rest = [this] { return stand_in_.at_rest(); },
                       .barriers = [this] { return barriers_.number(); }},
              .entered = [this](std::uint64_t barriers) {
                tensors_.come_late();
                barriers_.begin_after(barriers);
              }}) {
  exchange_.set_tracer(&trace.tracer());
}

// ---- requests

void RequestDispatcher::declare(TensorSpec spec, Declared done, std::vector<Rank> group) {
  if (!refusal_.ok()) return done(refusal_);
  declarations_.declare(std::move(spec), std::move(done), std::move(group));
}

void RequestDispatcher::start(const OperationPtr& operation) {
  Status refused = refusal_.ok() ? stand_in_.refusal() : refusal_;
  if (refused.ok()) refused = barriers_.refusal();
  if (refused.ok()) return exchange_.start(operation);
  operation->ticket->end_one(
      std::move(refused).with_operation(fmt::format("{}", name_of(*operation))), {});
}

Result<OptimizerStateTransfer::Target> RequestDispatcher::target_of(const Tensor& tensor) const {
  if (!refusal_.ok()) return refusal_;
  if (Status status = tensors_.check(tensor); !status.ok()) return status;
  const TensorSpec& spec = tensors_.find(tensor.id)->spec;
  if (!is_optimizer(spec.options.update.rule)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("tensor '{}' is {}: no update rule, and so nothing to remember",
                              spec.name, spec.describe()));
  }
  return OptimizerStateTransfer::Target{.tensor = tensor.id,
                                        .spec = spec,
                                        .part_bytes = membership_.settings().part_bytes,
                                        .links = tensors_.links_of(tensor.id)};
}

void RequestDispatcher::save_state(const Tensor& tensor, OptimizerStateTransfer::Saved done) {
  Result<OptimizerStateTransfer::Target> target = target_of(tensor);
  if (!target.ok()) return done(target.status());
  states_.save(*std::move(target), std::move(done));
}

void RequestDispatcher::load_state(const Tensor& tensor, std::span<const std::byte> state,
                                   const Done& done) {
  Result<OptimizerStateTransfer::Target> target = target_of(tensor);
  if (!target.ok()) return done(target.status());
  states_.load(*std::move(target), state, done);
}

void RequestDispatcher::barrier(const Done& done) {
  if (!refusal_.ok()) return done(Status(refusal_).with_operation("barrier"));
  barriers_.barrier([done](const Result<Rank>& last) { done(last.status()); });
}

// The other workers may continue without limit; the loss of one of them is reported.
void RequestDispatcher::sit_out(BarrierCalls::Done done) {
  if (!refusal_.ok()) return done(Status(refusal_).with_operation("sit_out"));
  if (exchange_.members().has_tensors()) {
    return done(Status(Code::kUnsupported,
                       "a tensor is exchanged among workers, where none can sit out; declare it "
                       "with exchange servers")
                    .with_operation("sit_out"));
  }
  barriers_.sit_out(std::move(done));
}

// ---- incoming

void RequestDispatcher::on_scheduler(const control::Message& message) {
  if (const auto* declared = std::get_if<control::Declared>(&message)) {
    if (!membership_.roster()) return;  // No request can have been sent yet.
    declarations_.on_declared(*declared, *membership_.roster(), membership_.number());
  } else if (const auto* fault = std::get_if<control::Fault>(&message)) {
    on_fault(*fault, "scheduler");
  } else if (const auto* barrier = std::get_if<control::Barrier>(&message)) {
    if (stand_in_.sitting()) steps_.gate().catch_up(barrier->step);
    barriers_.on_open(*barrier);
  } else if (const auto* cut = std::get_if<control::CheckpointCut>(&message)) {
    checkpoints_.on_cut(*cut);
  } else if (control::is<control::Welcome>(message)) {  // Of a restarted one.
    barriers_.tell_again();
    checkpoints_.tell_again();
    declarations_.tell_again();
    steps_.tell_again();
  } else if (const auto* ended = std::get_if<control::CheckpointEnded>(&message)) {
    checkpoints_.on_ended(*ended);
  } else if (const auto* question = std::get_if<control::AtStep>(&message)) {
    if (question->checkpoint) return checkpoints_.offers().on_asked(*question);
    steps_.gate().on_question(*question);
  }
}

void RequestDispatcher::on_shard(LinkId link, const control::Message& message,
                                 const Member& shard) {
  if (const auto* welcome = std::get_if<control::Welcome>(&message)) {
    // A standby's; it sends another one on its promotion.
    if (welcome->stands_by) return van_.links().admit(link, shard.node);
    const std::optional<ShardLinks::Moved> moved = shards_.welcome(link);
    if (!moved) return;
    settle(*moved, van_, tensors_, stand_in_, states_, exchange_.servers(), steps_.gate().said());
  } else if (const auto* piece = std::get_if<control::StatePiece>(&message)) {
    states_.on_piece(*piece);
  } else if (const auto* fault = std::get_if<control::Fault>(&message)) {
    on_fault(*fault, shard.describe());
  } else if (const auto* wanted = std::get_if<control::Wanted>(&message)) {
    stand_in_.on_wanted(*wanted);
  } else if (const auto* recall = std::get_if<control::Recall>(&message)) {
    exchange_.servers().recalls().answer(link, *recall);
  }
}

void RequestDispatcher::on_fault(const control::Fault& fault, const std::string& peer) {
  const Status why = Status(fault.why).with_peer(peer);
  if (fault.name == "barrier" && fault.tensor == 0) {
    barriers_.end_all(why);
    return;
  }
  if (why.code() == Code::kMismatch) {
    disagreement_ = why;
    disagreed_at_ = clock_.now();
  }
  declarations_.on_refused(fault.name, why);
  if (fault.tensor != 0) exchange_.servers().on_fault({fault.tensor, fault.part}, why);
}

Status RequestDispatcher::cause_of(const Status& error) const {
  const bool because = error.code() == Code::kPeerLost && !disagreement_.ok() &&
                       clock_.now() - disagreed_at_ <= kHindsight;
  return because ? disagreement_ : error;
}

// ---- time and ends

void RequestDispatcher::tick(bool others_pause) {
  if (const Time now = clock_.now(); others_pause) {
    exchange_.operations().patience().excuse(now);
    barriers_.excuse(now);
    checkpoints_.excuse(now);
    steps_.excuse(now);
  }
  exchange_.tick();
  if (membership_.roster()) {
    // In a job that resumed from a checkpoint earlier versions make no value stale.
    if (membership_.settings().restored != 0 && !std::exchange(goes_on_, true))
      tensors_.come_late();
    if (membership_.roster()->servers_return()) exchange_.servers().recalls().begin();
    if (membership_.settings().servers_replaced()) exchange_.servers().recalls().shares().begin();
    exchange_.peers().follow(
        *membership_.roster(), membership_.node(), [this] { return membership_.hello(); },
        clock_.now());
    exchange_.take_early();
    exchange_.members().follow(*membership_.roster(), {membership_.node(), steps_.gate().at()});
  }
  states_.tick();
  declarations_.tick();
  if (barriers_.late()) {
    barriers_.end_all(exchange_.operations().with_elsewhere(barriers_.lateness()));
  }
  barriers_.enter_if_ready();
  checkpoints_.tick();
  steps_.tick(membership_.roster() ? &*membership_.roster() : nullptr);
}

Time RequestDispatcher::next_due() const {
  return std::min({exchange_.operations().next_due(), exchange_.peers().next_due(),
                   exchange_.members().next_due(), states_.next_due(), declarations_.next_due(),
                   barriers_.next_due(), checkpoints_.next_due(), steps_.next_due()});
}

// If servers may be replaced, a contribution to an open round stays here for as long as a
// replacement may ask for it.
bool RequestDispatcher::idle() const {
  if (membership_.settings().servers_replaced() && !tensors_.settled()) return false;
  return exchange_.operations().idle() && states_.idle() && declarations_.idle() &&
         barriers_.idle() && checkpoints_.idle() && steps_.idle();
}

Heartbeats::Progress RequestDispatcher::progress() const {
  const OperationTable& operations = exchange_.operations();
  const Operation* oldest = operations.oldest(long_ago(clock_, membership_));
  return {.rounds = exchange_.progress().most_rounds,
          .staleness = exchange_.progress().last_staleness,
          .input = {},
          .waits_in = oldest == nullptr ? barriers_.oldest(long_ago(clock_, membership_))
                                        : operations.describe(*oldest),
          .reports = {},
          .activity = activity(oldest)};
}

Time RequestDispatcher::waits_since() const {
  const OperationTable& operations = exchange_.operations();
  const Operation* oldest = operations.oldest(long_ago(clock_, membership_));
  if (oldest != nullptr) return operations.begun_at(*oldest);
  return barriers_.oldest(long_ago(clock_, membership_)).empty() ? Time() : barriers_.since();
}

control::Activity RequestDispatcher::activity(const Operation* oldest) const {
  const OperationTable& operations = exchange_.operations();
  control::Activity known{.begun = operations.last_begun(), .ended = operations.last_ended()};
  if (!declarations_.idle()) known.call = "declare";
  if (!states_.idle()) known.call = "save_state or load_state";
  if (!steps_.idle()) known.call = "next step";
  if (!checkpoints_.idle()) known.call = "checkpoint";
  if (oldest == nullptr) return known;
  known.held = oldest->paused;
  for (const LinkId link : tensors_.awaited_by(*oldest)) {
    const Member* shard = shards_.find(link);
    if (shard == nullptr || known.awaits.size() == control::Activity::kMostAwaited) continue;
    known.awaits.push_back(shard->node);
  }
  return known;
}

void RequestDispatcher::end_all(const Status& why) {
  refuse(why);
  exchange_.end_all(why);
  STRETTO_CHECK(exchange_.operations().idle());
  states_.end_all(why);
  declarations_.end_all(why);
  barriers_.end_all(why);
  checkpoints_.end_all(why);
  steps_.gate().end_all(why);
}

}  // namespace stretto
