// SPDX-License-Identifier: Apache-2.0
// Joining, leaving, and what ends a worker.
#include "worker/node.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/memory.h"
#include "common/network/address.h"
#include "worker/monitoring/worker_metrics.h"

namespace stretto {
namespace {

void report_broken(MembershipClient& membership, const Member& member, Code code,
                   const Status& why) {
  const std::string who = member.describe();
  if (why.code() == Code::kResource) {  // This process lacks a resource.
    return membership.resign(
        Status(why.code(), fmt::format("the link to {}: {}", who, why.cause())));
  }
  membership.report_broken(member.node, why,
                           Status(code, fmt::format("the link to {} at {} broke: {}", who,
                                                    host_port_of(member.address), why.cause()))
                               .with_peer(who));
}

void report_missed(const std::vector<StandbyLinks::Unreachable>& standbys,
                   MembershipClient& membership) {
  if (membership.state() == MembershipClient::State::kLeaving) return;
  for (const StandbyLinks::Unreachable& missed : standbys) {
    // A standby is not needed before its promotion, even if this process lacks a resource.
    const Status why(Code::kLinkBroken, missed.why.cause());
    report_broken(membership, missed.member, Code::kServerLost, why);
  }
}

void follow_servers(ShardLinks& shards, MembershipClient& membership, Time now) {
  if (!shards.called() || membership.over() || !membership.roster()) return;
  Status status = shards.follow(*membership.roster(), membership.hello(), now);
  if (!status.ok()) membership.fail(std::move(status));
}

}  // namespace

WorkerNode::WorkerNode(const Config& config, std::unique_ptr<Transport> transport,
                       const Clock& clock, std::unique_ptr<CodecExecutor> coder,
                       ViewListener::Then on_place)
    : clock_(clock),
      van_(std::move(transport), clock,
           {.limits = limits_for(config),
            .whole_frames = config.whole_frames,
            .checksums = config.checksums,
            .look_ahead = config.look_ahead,
            .host = host::host_options(config)}),
      membership_(config, {}, van_, clock),
      trace_(config, van_),
      shards_(van_),
      work_(config, clock, van_, membership_, shards_, trace_, std::move(coder)),
      places_(std::move(on_place)) {}

// ---- requests

void WorkerNode::join(Done done, std::string address) {
  joining_ = std::move(done);
  membership_.start(std::move(address));
}

void WorkerNode::leave(Done done) {
  if (ended_) return done(Status(work_.refusal()).with_operation("leave"));
  leaving_.push_back(std::move(done));
  activity_.pauses()->note_ending();
  work_.refuse({Code::kCancelled, "this worker is leaving the job"});
  go_if_free();
}

void WorkerNode::abandon() {
  membership_.fail({Code::kCancelled, "this worker was destroyed before it had left the job"});
  finish();
}

void WorkerNode::go_if_free() {
  const bool may_go = membership_.state() == MembershipClient::State::kMember && work_.idle();
  if (leaving_.empty() || !may_go) return;
  // Values for other workers may be in flight, and are lost with the links. A peer that does not
  // acknowledge them within `dead_after` is lost anyway.
  ExchangeDispatcher& exchange = work_.exchange();
  const Time now = clock_.now();
  const bool waits = farewell_until_ || heard_until_;  // Retransmitted frames do not delay it.
  if (!waits && !exchange.peers().have_sent_all()) return;
  // On another link of the same pair the leave would overtake them.
  if (!farewell_until_ && membership_.settings().worker_links > 1) {
    if (!heard_until_) heard_until_ = now + membership_.settings().dead_after;
    if (now < *heard_until_ && !exchange.peers().have_heard_all()) return;
  }
  if (!farewell_until_) {
    exchange.members().leave();
    farewell_until_ = heard_until_.value_or(now + membership_.settings().dead_after);
  }
  if (now < *farewell_until_ && !exchange.peers().have_heard_all()) return;
  shards_.tell_all(control::Leave{});
  shards_.standbys().tell_all(control::Leave{});
  membership_.leave();
}

// ---- incoming

void WorkerNode::on_control(LinkId link, const control::Message& message) {
  if (membership_.scheduler().is(link)) {
    const bool taken = membership_.on_control(link, message) || trace_.on_control(link, message);
    if (!taken) return work_.on_scheduler(message);
    const bool is_back = membership_.roster() && membership_.scheduler().id() != 0;
    if (is_back && control::is<control::Welcome>(message)) work_.on_scheduler(message);
    // Before this worker learns of a tensor on a shard that has just joined.
    if (!control::is<Roster>(message)) return;
    follow_servers(shards_, membership_, clock_.now());
    for (const auto& [from, said] : shards_.standbys().take_said()) on_control(from, said);
    return;
  }
  if (shards_.standbys().holds(link, message)) return;
  const Member* shard = shards_.find(link);
  const auto* fault = std::get_if<control::Fault>(&message);
  if (shard == nullptr) {
    Status refused = work_.exchange().on_peer(link, message);
    if (!refused.ok()) membership_.fail(std::move(refused));
  } else if (const auto* taken = std::get_if<control::TakeIn>(&message)) {
    work_.steps().on_taken_in(shards_.place_of(shard->node), *taken);
  } else if (fault != nullptr && fault->tensor == 0) {
    if (membership_.state() == MembershipClient::State::kLeaving)
      return;  // The shard may know the leave.
    membership_.fail(Status(fault->why).with_peer(shard->describe()),
                     MembershipClient::State::kCutOff);
  } else {
    work_.on_shard(link, message, *shard);
  }
}

void WorkerNode::on_broken(LinkId link, const Status& why) {
  if (membership_.on_broken(link, why) || shards_.standbys().lose(link, why)) return;
  const Member* shard = shards_.find(link);
  const Member* peer = shard == nullptr ? work_.exchange().lose_peer(link) : nullptr;
  if (membership_.state() == MembershipClient::State::kLeaving) return;
  if (shard != nullptr && !shards_.call_again(link, membership_.hello(), clock_.now())) {
    report_broken(membership_, *shard, Code::kServerLost, why);
  }
  // A peer that has received this worker's leave, its last message, keeps no session for it.
  if (peer != nullptr && !farewell_until_) report_broken(membership_, *peer, Code::kPeerLost, why);
}

// ---- time

void WorkerNode::step(Duration wait) {
  if (ended_) return;
  try {
    van_.step(*this, wait, idle() ? WaitReason::kNothing : WaitReason::kAnswers);
    tick();
  } catch (const std::bad_alloc& thrown) {
    const Time now = clock_.now();
    if (now > without_memory_until_) throw;
    without_memory_until_ = std::min(without_memory_until_, now + kPatienceWithoutMemory);
    membership_.resign(out_of_memory(thrown));
  }
}

void WorkerNode::tick() {
  ExchangeDispatcher& exchange = work_.exchange();
  Heartbeats& heartbeats = membership_.heartbeats();
  if (heartbeats.due(clock_.now())) {
    Heartbeats::Progress told = work_.progress();
    told.input = input_.totals(clock_.now());
    told.reports = activity_.reports().take();
    told.chosen = exchange.members().plans().chosen().take();
    told.activity = activity_.at(clock_.now(), *told.activity, work_.waits_since());
    if (heartbeats.stack_wanted()) told.stack = activity_.stack();
    heartbeats.set_progress(told);
    exchange.operations().set_elsewhere(heartbeats.elsewhere());
  }
  membership_.tick();
  places_.follow(membership_, work_.steps().gate().count()->begun() != 0);
  input_.limit(heartbeats.input_limit_bytes());
  trace_.tick(membership_, 0, exchange.progress().most_rounds);
  work_.tick(heartbeats.others_pause());
  const Time now = clock_.now();
  if (pen_.due(now)) {
    pen_.put(
        worker_metrics(van_, exchange, membership_.number(), heartbeats, activity_.reports().all()),
        now);
  }
  if (membership_.state() == MembershipClient::State::kMember && !shards_.called()) {
    const Status called = shards_.connect(*membership_.roster(), membership_.hello(), now);
    if (!called.ok()) membership_.fail(called);
  }
  const bool is_in =
      joining_ && shards_.complete() && shards_.standbys().settled() &&
      work_.steps().takes_part(*membership_.roster(), membership_.node(), shards_.count());
  if (is_in) std::exchange(joining_, nullptr)({});
  if (work_.steps().too_late()) membership_.resign(JoinProgress::too_late());
  const bool excused = membership_.scheduler_is_away();
  report_missed(shards_.standbys().take_missed(now, excused), membership_);
  if (Status silence = shards_.silence(now, excused); !silence.ok()) {
    membership_.fail(std::move(silence));
  }
  if (Status silence = work_.exchange().peers().silence(now, excused); !silence.ok()) {
    membership_.fail(std::move(silence).with_operation("declare"));
  }
  // The link of a suspected member that is not expelled yet holds memory, too.
  if (!exchange.operations().stuck()) stuck_since_.reset();
  if (exchange.operations().stuck() && !stuck_since_) stuck_since_ = now;
  if (stuck_since_ && now - *stuck_since_ > 2 * membership_.settings().dead_after) {
    membership_.fail({Code::kTimeout, "a link takes no more bytes"});
  }
  go_if_free();
  if (membership_.over()) finish();
}

Time WorkerNode::next_due() const {
  if (ended_) return Time::max();
  const bool is_in = membership_.state() == MembershipClient::State::kMember;
  const Time farewell = farewell_until_ ? *farewell_until_ : heard_until_.value_or(Time::max());
  return std::min({van_.next_due(), membership_.next_due(), work_.next_due(), shards_.next_due(),
                   is_in ? farewell : Time::max()});
}

// The membership is over: all pending calls end now. Tickets end after the transport, once the
// users' memory is not read any more.
void WorkerNode::finish() {
  if (std::exchange(ended_, true)) return;
  input_.limit(0);
  const char* told = leaving_.empty() ? "the job is over: all others have left it"
                                      : "this worker has left the job";
  const Status why = membership_.status().ok() ? Status(Code::kCancelled, told)
                                               : work_.cause_of(membership_.status());
  const bool in_order = membership_.state() == MembershipClient::State::kLeft;
  places_.follow(membership_, work_.steps().gate().count()->begun() != 0);
  van_.shut();
  work_.end_all(why);
  if (joining_) std::exchange(joining_, nullptr)(Status(why).with_operation("join"));
  for (const Done& done : std::exchange(leaving_, {})) done(in_order ? Status() : why);
}

}  // namespace stretto
