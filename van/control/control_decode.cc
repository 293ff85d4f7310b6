// SPDX-License-Identifier: Apache-2.0
// One function for each message. All fields are checked here, before a role acts on them.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include "common/text.h"
#include "van/control/checkpoint_decode.h"
#include "van/control/control.pb.h"
#include "van/control/control_codec.h"
#include "van/control/heartbeat_decode.h"
#include "van/control/known_number.h"
#include "van/control/state_decode.h"
#include "van/wire/header.h"

namespace stretto::control {
namespace {

Status malformed(std::string cause) { return {Code::kMalformed, std::move(cause)}; }

Duration nanoseconds(std::uint64_t count) { return Duration(static_cast<std::int64_t>(count)); }

// ---- members

Result<Message> from(const wire::Hello& hello) {
  const std::string host = shortened(hello.host(), Hello::kMaxHostBytes);
  const bool known = hello.role() >= static_cast<std::uint32_t>(Role::kScheduler) &&
                     hello.role() <= static_cast<std::uint32_t>(Role::kObserver);
  if (!known && hello.protocol() == wire::kProtocol) {  // Rejected later, as another release.
    return Status(Code::kRefused, fmt::format("{} comes as role {}, wanted one of {} to {}", host,
                                              hello.role(), static_cast<int>(Role::kScheduler),
                                              static_cast<int>(Role::kObserver)));
  }
  return Message(Hello{.protocol = hello.protocol(),
                       .token = hello.token(),
                       .role = known ? static_cast<Role>(hello.role()) : Role{},
                       .rank = hello.rank(),
                       .workers = hello.workers(),
                       .servers = hello.servers(),
                       .node = hello.node(),
                       .address = hello.address(),
                       .shard = hello.shard(),
                       .shards = hello.shards(),
                       .host = host,
                       .version = shortened(hello.version(), Hello::kMaxHostBytes),
                       .machine = hello.machine(),
                       .session = hello.session(),
                       .job = hello.job(),
                       .life = hello.life(),
                       .padding = hello.padding().size()});
}

Result<Message> from(const wire::Resume& claim) {
  return Message(Resume{.protocol = claim.protocol(),
                        .token = claim.token(),
                        .session = claim.session(),
                        .link = claim.link(),
                        .received = claim.received(),
                        .padding = claim.padding().size()});
}

Result<Message> from(const wire::Resumed& answer) {
  return Message(Resumed{.received = answer.received(), .padding = answer.padding().size()});
}

Result<Message> from(const wire::Welcome& welcome) {
  if (welcome.rank() < 0 || welcome.rank() >= kMaxNodes) {
    return malformed(
        fmt::format("a welcome gives rank {}, ranks are 0 to {}", welcome.rank(), kMaxNodes - 1));
  }
  return Message(Welcome{.node = welcome.node(),
                         .rank = static_cast<Rank>(welcome.rank()),
                         .job = welcome.job(),
                         .life = welcome.life(),
                         .stands_by = welcome.stands_by(),
                         .padding = welcome.padding().size()});
}

Result<Message> from(const wire::Fault& fault) {
  return Message(Fault{.why = status_from(fault.code(), fault.cause(), fault.peer()),
                       .tensor = fault.tensor(),
                       .part = fault.part(),
                       .round = fault.round(),
                       .name = fault.name()});
}

Result<JobSettings> settings_from(const wire::Settings& s) {
  constexpr std::uint64_t kDay = 86'400'000'000'000;
  const auto is_time = [](std::uint64_t ns) { return ns >= 1'000'000 && ns <= kDay; };
  const bool sensible =
      s.part_bytes() >= 64 && s.part_bytes() <= wire::kMaxPartBytes && s.part_bytes() % 64 == 0 &&
      s.link_window_bytes() > 0 && s.total_window_bytes() > 0 && is_time(s.heartbeat_ns()) &&
      is_time(s.dead_after_ns()) && is_time(s.stall_error_ns()) &&
      s.worker_links() <= JobSettings::kMostWorkerLinks && s.scheduler_absence_ns() <= kDay;
  if (!sensible) return malformed("a roster's settings make no sense");
  return JobSettings{.part_bytes = s.part_bytes(),
                     .link_window_bytes = s.link_window_bytes(),
                     .total_window_bytes = s.total_window_bytes(),
                     .heartbeat = nanoseconds(s.heartbeat_ns()),
                     .dead_after = nanoseconds(s.dead_after_ns()),
                     .stall_error = nanoseconds(s.stall_error_ns()),
                     .min_workers = s.min_workers(),
                     .worker_links = std::max(1U, s.worker_links()),
                     .restored = s.restored(),
                     .restored_step = s.restored_step(),
                     .server_restarts = s.server_restarts(),
                     .replicas = std::max(s.replicas(), 1U),
                     .scheduler_absence = nanoseconds(s.scheduler_absence_ns())};
}

Result<Member> member_from(const wire::Member& m) {
  if (m.role() != static_cast<std::uint32_t>(Role::kServer) &&
      m.role() != static_cast<std::uint32_t>(Role::kWorker)) {
    return malformed(fmt::format("a roster names node {} of role {}", m.node(), m.role()));
  }
  return Member{.node = m.node(),
                .role = static_cast<Role>(m.role()),
                .rank = m.rank(),
                .shard = m.shard(),
                .address = m.address(),
                .left = m.left(),
                .lost = m.lost(),
                .moved_up = m.moved_up(),
                .joining = m.joining(),
                .from_step = m.from_step(),
                .machine = m.machine(),
                .standby = m.standby()};
}

// Each member must occur once, and within the world size of the roster.
Status add_members(const wire::Roster& message, Roster& roster) {
  std::set<NodeId> nodes;
  std::set<std::tuple<Role, Rank, std::uint32_t, bool>> places;
  for (const wire::Member& m : message.members()) {
    Result<Member> member = member_from(m);
    if (!member.ok()) return member.status();
    const bool worker = member->role == Role::kWorker;
    // Such a member has no rank any more, or none yet.
    const bool replaced = roster.settings.servers_replaced() && !worker && member->left;
    const bool gone = replaced || (roster.settings.elastic() && (member->left || member->joining));
    const bool fits =
        gone ||
        (member->rank < (worker ? roster.workers : roster.servers) &&
         places.insert({member->role, member->rank, worker ? 0 : member->shard, member->standby})
             .second);
    if (!nodes.insert(member->node).second || member->node <= 1 || !fits) {
      return malformed(fmt::format("a roster names {} (node {}) twice or out of range",
                                   member->describe(), member->node));
    }
    roster.members.push_back(std::move(*member));
  }
  return {};
}

Result<Message> from(const wire::Roster& message) {
  Roster roster{.epoch = message.epoch(),
                .fence = message.fence(),
                .workers = message.workers(),
                .servers = message.servers(),
                .slots = message.slots(),
                .since = message.since(),
                .question = message.question(),
                .step = message.step()};
  if (message.members_size() > static_cast<int>(kMaxNodes) || roster.workers > kMaxNodes ||
      (roster.slots == 0) != (roster.servers == 0) || roster.slots > (1U << 20) ||
      (roster.since != 0 && roster.since >= roster.epoch)) {
    return malformed(fmt::format(
        "a roster of {} members, {} workers, {} servers and {} slots, of epoch {} since epoch {}",
        message.members_size(), roster.workers, roster.servers, roster.slots, roster.epoch,
        roster.since));
  }
  Result<JobSettings> settings = settings_from(message.settings());
  if (!settings.ok()) return settings.status();
  roster.settings = *settings;
  if (Status status = add_members(message, roster); !status.ok()) return status;
  return Message(std::move(roster));
}

Result<Message> from(const wire::Leave&) { return Message(Leave{}); }

Result<Message> from(const wire::Failure& failure) {
  return Message(Failure{status_from(failure.code(), failure.cause(), failure.peer())});
}

Result<Message> from(const wire::LinkReport& report) {
  const auto state = static_cast<int>(report.state());
  if (state < 0 || state > static_cast<int>(LinkReport::State::kMended)) {
    return malformed(fmt::format("a link is said to be in state {}", state));
  }
  return Message(LinkReport{.node = report.node(),
                            .cause = shortened(report.cause(), LinkReport::kMaxCauseBytes),
                            .state = static_cast<LinkReport::State>(state)});
}

// ---- tensors and rounds

CodecSpec codec_from(const wire::CodecSpec& codec) {
  const auto byte = [](std::uint32_t number) { return std::min(number, 255U); };
  return {.codec = static_cast<Codec>(byte(codec.codec())),
          .k = codec.k(),
          .scaling = codec.scaling(),
          .error_feedback = codec.error_feedback(),
          .momentum = codec.momentum(),
          .mu = codec.mu(),
          .seed = codec.seed(),
          .levels = static_cast<DitherLevels>(byte(codec.levels())),
          .norm = static_cast<DitherNorm>(byte(codec.norm()))};
}

Result<TensorSpec> spec_from(const wire::TensorSpec& message) {
  if (message.dtype() > 255 || message.mode() > 255 || message.rule() > 255 ||
      message.exchange() > 255 || message.late() > 255) {
    return malformed("a tensor's dtype, mode, rule, exchange or late is out of range");
  }
  TensorSpec spec;
  spec.name = message.name();
  spec.dtype = static_cast<Dtype>(message.dtype());
  spec.elements = message.elements();
  spec.options.mode = static_cast<Mode>(message.mode());
  spec.options.bound = message.bound();
  spec.options.update = {.rule = static_cast<Rule>(message.rule()),
                         .rate = message.rate(),
                         .momentum = message.momentum(),
                         .nesterov = message.nesterov(),
                         .beta1 = message.beta1(),
                         .beta2 = message.beta2(),
                         .epsilon = message.epsilon(),
                         .weight_decay = message.weight_decay()};
  spec.options.deterministic = message.deterministic();
  spec.options.bulk = message.bulk();
  spec.options.shape = message.shape();
  spec.options.exchange = static_cast<Exchange>(message.exchange());
  spec.options.close = {.quorum = message.quorum(),
                        .late = static_cast<Late>(message.late()),
                        .backups = message.backups()};
  if (message.has_codec()) spec.options.codec = codec_from(message.codec());
  if (Status status = check(spec); !status.ok()) return status;
  return canonical(std::move(spec));
}

// Of a message whose sender gets no fault by tensor name.
Result<TensorSpec> sound_spec_from(const wire::TensorSpec& message, std::string_view of) {
  Result<TensorSpec> spec = spec_from(message);
  if (spec.ok()) return spec;
  return malformed(
      fmt::format("{} names a tensor that makes no sense: {}", of, spec.status().cause()));
}

Result<Message> from(const wire::Declare& declare) {
  Result<TensorSpec> spec = spec_from(declare.spec());
  if (spec.ok()) return Message(Declare{.spec = *std::move(spec)});
  Declare flawed{.spec = {}, .flaw = spec.status()};
  flawed.spec.name = declare.spec().name().substr(0, kMaxNameBytes);
  return Message(std::move(flawed));
}

Result<Message> from(const wire::Declared& message) {
  Declared declared{.tensor = message.tensor(),
                    .first_slot = message.first_slot(),
                    .name = message.name(),
                    .owners = {},
                    .restored = message.restored()};
  for (const wire::SlotRun& run : message.owners()) {
    declared.owners.push_back({.first = run.first(), .count = run.count(), .owner = run.node()});
  }
  return Message(std::move(declared));
}

Result<Message> from(const wire::Open& open) {
  Result<TensorSpec> spec = sound_spec_from(open.spec(), "an open");
  if (!spec.ok()) return spec.status();
  return Message(
      Open{.tensor = open.tensor(), .spec = *std::move(spec), .first_slot = open.first_slot()});
}

Result<Message> from(const wire::Barrier& barrier) {
  return Message(Barrier{.number = barrier.number(),
                         .sits_out = barrier.sits_out(),
                         .last = barrier.last(),
                         .step = barrier.step(),
                         .checkpoint = barrier.checkpoint(),
                         .withdraws = barrier.withdraws(),
                         .alike = barrier.alike(),
                         .opened = barrier.opened()});
}

Result<Message> from(const wire::AtStep& said) {
  return Message(AtStep{.number = said.number(),
                        .step = said.step(),
                        .checkpoint = said.checkpoint(),
                        .held_us = said.held_us()});
}

Result<Message> from(const wire::TakeIn& said) {
  if (said.nodes_size() > static_cast<int>(TakeIn::kMostNodes)) {
    return malformed(fmt::format("{} newcomers are to be taken in, a job has at most {} nodes",
                                 said.nodes_size(), kMaxNodes));
  }
  return Message(TakeIn{.step = said.step(),
                        .barriers = said.barriers(),
                        .nodes = {said.nodes().begin(), said.nodes().end()}});
}

Result<Message> from(const wire::TermPlan& plan) {
  if (plan.weights_size() > static_cast<int>(TermPlan::kMostWeights) || plan.primitive() > 255) {
    return malformed(fmt::format("a plan is of primitive {} with {} weights, at most {} can be",
                                 plan.primitive(), plan.weights_size(), TermPlan::kMostWeights));
  }
  return Message(TermPlan{.tensor = plan.tensor(),
                          .round = plan.round(),
                          .primitive = static_cast<std::uint8_t>(plan.primitive()),
                          .weights = {plan.weights().begin(), plan.weights().end()}});
}

Result<Message> from(const wire::Regroup& said) {
  if (said.members_size() > static_cast<int>(kMaxNodes)) {
    return malformed(fmt::format("{} members go on, a job has at most {} nodes",
                                 said.members_size(), kMaxNodes));
  }
  const bool sound =
      said.generation() < Regroup::kMostGenerations &&
      std::ranges::all_of(
          said.finished(), [](const auto& each) { return each.least() < Regroup::kMostRounds; });
  if (!sound) return malformed("a choice of members has numbers that no job comes to");
  Regroup read{.decided = said.decided(),
               .generation = said.generation(),
               .members = {said.members().begin(), said.members().end()}};
  for (const wire::Regroup::Finished& each : said.finished()) {
    read.finished.push_back({.tensor = each.tensor(),
                             .least = each.least(),
                             .ahead = {each.ahead().begin(), each.ahead().end()}});
  }
  return Message(std::move(read));
}

Result<Message> from(const wire::SitOut& said) {
  return Message(SitOut{.number = said.number(), .over = said.over()});
}

Result<Message> from(const wire::Wanted& wanted) {
  Result<TensorSpec> spec = sound_spec_from(wanted.spec(), "a wish");
  if (!spec.ok()) return spec.status();
  return Message(Wanted{.spec = *std::move(spec), .part = wanted.part(), .round = wanted.round()});
}

Result<Message> from(const wire::Steer& steer) {
  return Message(Steer{.call = steer.call(),
                       .priority = steer.priority(),
                       .deadline_us = steer.deadline_us(),
                       .paused = steer.paused(),
                       .cancelled = steer.cancelled()});
}

// ---- observers

Result<Message> from(const wire::TraceCommand& command) {
  return Message(TraceCommand{.action = known(command.action(), TraceCommand::Action::kSend),
                              .session = command.session(),
                              .iterations = command.iterations(),
                              .records = command.records()});
}

Result<Message> from(const wire::TraceChunk& message) {
  const std::size_t count =
      std::min(message.notes().size() / sizeof(TraceNote), TraceChunk::kMostNotes);
  TraceChunk chunk{.session = message.session(),
                   .notes = std::vector<TraceNote>(count),
                   .dropped = message.dropped(),
                   .reached = message.reached(),
                   .refused = message.refused()};
  if (count > 0) {
    std::memcpy(chunk.notes.data(), message.notes().data(), count * sizeof(TraceNote));
  }
  return Message(std::move(chunk));
}

Result<Message> from(const wire::Observe& question) {
  return Message(Observe{.what = known(question.what(), Observe::What::kStack),
                         .first = question.first(),
                         .iterations = question.iterations(),
                         .seconds = question.seconds(),
                         .offset = question.offset()});
}

Result<Message> from(const wire::Observed& answer) {
  const int what = static_cast<int>(std::min(answer.what(), 255U));
  return Message(Observed{.what = known(what, Observe::What::kStack),
                          .text = answer.text(),
                          .records = answer.records()});
}

Result<Message> body_of(const wire::Control& message) {
  switch (message.body_case()) {
    case wire::Control::kHello:
      return from(message.hello());
    case wire::Control::kWelcome:
      return from(message.welcome());
    case wire::Control::kFault:
      return from(message.fault());
    case wire::Control::kRoster:
      return from(message.roster());
    case wire::Control::kDeclare:
      return from(message.declare());
    case wire::Control::kDeclared:
      return from(message.declared());
    case wire::Control::kOpen:
      return from(message.open());
    case wire::Control::kBarrier:
      return from(message.barrier());
    case wire::Control::kCheckpointCut:
      return cut_from(message.checkpoint_cut());
    case wire::Control::kCheckpointSaved:
      return Message(saved_from(message.checkpoint_saved()));
    case wire::Control::kCheckpointEnded:
      return Message(ended_from(message.checkpoint_ended()));
    case wire::Control::kHeartbeat:
      return Message(heartbeat_from(message.heartbeat()));
    case wire::Control::kLeave:
      return from(message.leave());
    case wire::Control::kFailure:
      return from(message.failure());
    case wire::Control::kLinkReport:
      return from(message.link_report());
    case wire::Control::kSteer:
      return from(message.steer());
    case wire::Control::kTraceCommand:
      return from(message.trace_command());
    case wire::Control::kTraceChunk:
      return from(message.trace_chunk());
    case wire::Control::kObserve:
      return from(message.observe());
    case wire::Control::kObserved:
      return from(message.observed());
    case wire::Control::kSitOut:
      return from(message.sit_out());
    case wire::Control::kWanted:
      return from(message.wanted());
    case wire::Control::kResume:
      return from(message.resume());
    case wire::Control::kResumed:
      return from(message.resumed());
    case wire::Control::kAtStep:
      return from(message.at_step());
    case wire::Control::kTakeIn:
      return from(message.take_in());
    case wire::Control::kTermPlan:
      return from(message.term_plan());
    case wire::Control::kRate:
      return Message(Rate{.bytes_per_second = message.rate().bytes_per_second()});
    case wire::Control::kRegroup:
      return from(message.regroup());
    default:
      return state_from(message);
  }
}

}  // namespace

Status status_from(std::uint64_t code, const std::string& cause, const std::string& peer) {
  const bool known = code > 0 && code <= static_cast<std::uint64_t>(Code::kNotFinite);
  constexpr std::size_t kMost = 4096;  // A longer text is not meant for readers.
  return Status(known ? static_cast<Code>(code) : Code::kCancelled, shortened(cause, kMost))
      .with_peer(shortened(peer, kMost));
}

Result<Message> decode(const Buffer& payload) {
  wire::Control message;
  if (payload.size() > wire::kMaxControlBytes ||
      !message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return malformed("a control message cannot be read");
  }
  return body_of(message);
}

}  // namespace stretto::control
