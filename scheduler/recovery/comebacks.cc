// SPDX-License-Identifier: Apache-2.0
// Which members may re-register, and what they are told.
#include "scheduler/recovery/comebacks.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "common/log.h"
#include "van/control/handshake.h"

namespace stretto {

std::vector<Member> members_of(const ViewMachine& machine) {
  std::vector<Member> members;
  if (machine.view().epoch == 0) return members;
  for (const auto& [node, member] : machine.next_view().members) members.push_back(member);
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::tie(a.role, a.rank, a.shard) < std::tie(b.role, b.rank, b.shard);
  });
  return members;
}

Status check_comeback(const control::Hello& hello, const View& view, const Member* departed,
                      std::uint64_t job, std::uint32_t life) {
  if (hello.job != job) {
    return {Code::kRefused, fmt::format("{} comes as a member of job {:x}, and this is job {:x}",
                                        hello.host, hello.job, job)};
  }
  if (hello.life > life) {
    return {Code::kRefused, fmt::format("{} knows scheduler {} of this job, and this is number {}",
                                        hello.host, hello.life, life)};
  }
  const Member* member = view.find(hello.node);
  const bool server = hello.role == Role::kServer;
  if (member == nullptr || (member->left && member->lost)) {
    const Member* known = member == nullptr ? departed : member;
    const std::string who = known == nullptr
                                ? fmt::format("a {} on {}", name_of(hello.role), hello.host)
                                : known->describe();
    return Status(server ? Code::kServerLost : Code::kPeerLost,
                  fmt::format("{} is lost to the job, which has gone on without it", who))
        .with_peer(who);
  }
  // Workers close gaps in their ranks, and this one may not know. A worker that rejoined under its
  // old number got the last rank, whatever that was.
  const std::int64_t rank = member->rank;
  const std::int64_t number = member->number();
  const bool closes_up = !server && hello.rank >= rank && (hello.rank <= number || number < rank);
  const bool is_it = hello.rank == rank || closes_up;
  if (member->role == hello.role && is_it && member->shard == hello.shard) return {};
  return {Code::kRefused,
          fmt::format("{} comes as {} {} shard {}, and its identity is that of {}", hello.host,
                      name_of(hello.role), hello.rank, hello.shard, member->describe())};
}

void Comebacks::begin() {
  const Time now = clock_.now();
  since_ = now;
  news_before_ = watch_.loss_news().size();
  const View& view = machine_.next_view();
  for (const auto& [node, member] : view.members) {
    if (!member.left) links_.expect(node, now);
    if (member.standby && !view.caught_up.contains(node)) unheard_.insert(node);
  }
  log(Level::kWarning,
      "this scheduler goes on in the place of one that was lost: epoch {}, {} members are to come "
      "again",
      machine_.view().epoch, links_.expected());
}

control::Hello Comebacks::recognized(control::Hello hello, std::uint64_t job) const {
  if (hello.job != 0 || hello.role != Role::kWorker || hello.address.empty()) return hello;
  for (const auto& [node, member] : machine_.next_view().members) {
    const bool is_it = member.role == Role::kWorker && member.joining &&
                       member.address == hello.address && links_.is_expected(node);
    if (!is_it) continue;
    hello.node = node;
    hello.rank = member.rank;
    hello.job = job;
  }
  return hello;
}

NodeId Comebacks::forgotten(const Join& join) const {
  if (join.role != Role::kServer) return 0;
  for (const auto& [node, member] : machine_.next_view().members) {
    const bool is_it = member.role == Role::kServer && member.standby && !member.left &&
                       member.address == join.address && member.shard == join.shard;
    if (is_it && links_.is_expected(node)) return node;
  }
  return 0;
}

Status Comebacks::take(LinkId link, const control::Hello& hello, std::uint64_t job) {
  const std::uint32_t life = config_.scheduler_return.life;
  Status status = check_greeting(hello, config_.token);
  const Member* departed = chronicle_.departed(hello.node);
  if (status.ok() && hello.job == job) {
    if (departed != nullptr && !departed->lost) {  // Its `Leave` may have been lost.
      van_.links().admit(link, hello.node);
      van_.send_control(
          link,
          control::Welcome{.node = hello.node, .rank = departed->rank, .job = job, .life = life});
      van_.send_control(link, control::Leave{});
      van_.links().await(link, Return::kUnlessEnded);
      return {};
    }
  }
  if (status.ok()) status = check_comeback(hello, machine_.next_view(), departed, job, life);
  if (!status.ok()) return status;
  const Member& member = *machine_.next_view().find(hello.node);
  if (const LinkId before = links_.of(member.node); before != 0) {
    links_.remove(before);
    van_.links().close(before);
  }
  links_.add(member.node, link, clock_.now());
  van_.links().admit(link, member.node);
  van_.links().await(link, Return::kFull);
  van_.send_control(
      link, control::Welcome{.node = member.node, .rank = member.rank, .job = job, .life = life});
  if (machine_.phase() == ViewMachine::Phase::kFailing) {  // A failing job admits no replacement.
    van_.send_control(link, control::Failure{machine_.status()});
    van_.links().await(link, Return::kUnlessEnded);
    return {};
  }
  van_.send_control(link, roster());
  if (machine_.phase() == ViewMachine::Phase::kDispersing && !member.left) {
    van_.send_control(link, control::Leave{});
    van_.links().await(link, Return::kUnlessEnded);
  }
  const auto question = machine_.entrance().open_question();
  if (question && machine_.next_view().contributors.nodes.contains(member.node)) {
    van_.send_control(link, control::AtStep{.number = *question});  // It may lack the question.
  }
  log(Level::kDebug, "{} has come again", member.describe());
  return {};
}

std::optional<Suspicion> Comebacks::weigh(const Suspicion& suspicion) {
  if (!links_.is_expected(suspicion.subject)) return suspicion;
  suspicions_.push_back(suspicion);
  return std::nullopt;
}

std::vector<Suspicion> Comebacks::take_weighed() {
  std::vector<Suspicion> due;
  std::erase_if(suspicions_, [&](const Suspicion& each) {
    if (links_.is_expected(each.subject)) return false;
    due.push_back(each);
    return true;
  });
  return due;
}

bool Comebacks::may_have_heir(const Member& member) const {
  if (member.role != Role::kServer || member.standby) return false;
  return std::ranges::any_of(unheard_, [&](NodeId node) {
    const Member* standby = machine_.next_view().find(node);
    return standby != nullptr && !standby->left && standby->rank == member.rank;
  });
}

std::vector<NodeId> Comebacks::end_with(std::vector<MemberExit> ends) {
  ends.insert(ends.end(), put_off_.begin(), put_off_.end());
  put_off_.clear();
  std::vector<NodeId> absent;
  for (const MemberExit& end : ends) {
    std::vector<NodeId> linkless;  // The shards of a server's process.
    bool waits = false;
    for (const auto& [node, member] : machine_.next_view().members) {
      if (member.role != end.role || member.number() != end.rank) continue;
      van_.links().await(links_.of(node), Return::kNone);
      if (links_.of(node) != 0) continue;
      linkless.push_back(node);
      waits = waits || may_have_heir(member);
    }
    if (waits) put_off_.push_back(end);
    if (!waits) absent.insert(absent.end(), linkless.begin(), linkless.end());
  }
  return absent;
}

void Comebacks::tick() {
  if (!since_ || links_.expected() != 0) return;
  log(Level::kInfo, "all members have come again, or are lost, after {:.3f} s",
      seconds(clock_.now() - *std::exchange(since_, std::nullopt)));
}

// Members wait for a failed scheduler if its successor has a journal and may be started.
JobSettings Comebacks::settings() const {
  JobSettings settings = config_.job;
  const std::vector<LossReport>& all = watch_.loss_news();
  const auto used = static_cast<std::uint32_t>(
      std::count_if(all.begin() + static_cast<std::ptrdiff_t>(news_before_), all.end(),
                    [](const LossReport& news) { return news.server && !news.dropped; }));
  const bool returns = chronicle_.is_kept() && config_.scheduler_return.restarts > used;
  settings.scheduler_absence = returns ? config_.scheduler_return.absence : Duration::zero();
  return settings;
}

Roster Comebacks::head() const {
  const View& view = machine_.view();
  return {.epoch = view.epoch,
          .fence = view.fence,
          .workers = view.ranks(Role::kWorker),
          .servers = config_.servers,
          .slots = view.slots.size(),
          .question = view.question,
          .step = view.step,
          .members = {},
          .settings = settings()};
}

// The whole last view, for members that may have missed parts.
Roster Comebacks::roster() const {
  Roster roster = head();
  roster.members = members_of(machine_);
  add_departed(roster, chronicle_.departed());
  return roster;
}

}  // namespace stretto
