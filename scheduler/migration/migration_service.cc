// SPDX-License-Identifier: Apache-2.0
// Requests, answers and dismissals.
#include "scheduler/migration/migration_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "common/config/job_variables.h"
#include "common/log.h"

namespace stretto {

namespace {

constexpr std::size_t kMostWaiting = 64;

// Paths that are valid in any working directory.
std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path made = std::filesystem::absolute(path, error);
  return error ? path : made.string();
}

}  // namespace

Status MigrationService::refusal(const control::Move& wanted) const {
  if (machine_.phase() == ViewMachine::Phase::kGathering) {
    return {Code::kRefused, "not all of the job's members have come yet: try again once they have"};
  }
  if (machine_.phase() != ViewMachine::Phase::kRunning) {
    return {Code::kRefused, "the job is ending"};
  }
  if (launcher_ == nullptr || launcher_->told() || wanted.joining != 0) return {};
  return {Code::kUnsupported,
          "nobody is there who starts another process: stretto-launch has not started the job"};
}

void MigrationService::ask(LinkId link, const control::Move& wanted) {
  if (!wanted.why.ok()) return hear_end(link, wanted.server);
  // Meanwhile servers that a previous scheduler has invited report themselves.
  const bool waits = links_.expected() != 0 || !waiting_.empty();
  const bool may_wait = waiting_.size() < kMostWaiting && wanted.joining != 0 && wanted.other == 0;
  if (waits && may_wait) {
    waiting_.emplace_back(link, wanted);
    return;
  }
  answer(link, wanted);
}

bool MigrationService::ask_for(const Member& member, LinkId link) {
  if (member.role != Role::kServer || member.left) return true;
  if (are_kept_) {
    farewells_.ask(member, link);
  } else if (member.standby) {
    van_.send_control(
        link, control::Move{.server = member.number(), .why = {Code::kRefused, "it had none yet"}});
    return false;
  } else {
    ask(link, {.server = member.number()});
  }
  return true;
}

void MigrationService::hear_end(LinkId link, Rank server) {
  if (!config_.is_guest_server(server) || !moves_.note_end(server, link)) return;
  if (guests_ended_.size() < kMaxNodes) guests_ended_.push_back({Role::kServer, server});
}

void MigrationService::answer(LinkId link, const control::Move& wanted) {
  const bool is_running = machine_.phase() == ViewMachine::Phase::kRunning;
  if (wanted.other != 0 && !is_running) return;  // That server learns it from its own link.
  Status status = refusal(wanted);
  if (status.ok() && wanted.joining != 0) {
    status = invite(link, wanted);
  } else if (status.ok()) {
    status = moves_.begin(wanted.server, wanted.host, link, machine_.next_view(), clock_.now());
  }
  if (status.ok()) return;
  if (wanted.joining != 0) {
    log(Level::kWarning, "no server joins: {}", status.cause());
  } else {
    log(Level::kWarning, "the place of server {} is not handed over: {}", wanted.server,
        status.cause());
  }
  van_.send_control(link, control::Move{.server = wanted.server,
                                        .why = status,
                                        .joining = wanted.joining,
                                        .other = wanted.other});
}

Status MigrationService::invite(LinkId link, const control::Move& wanted) {
  PlacementRequest wish{.count = wanted.joining, .machine = wanted.machine};
  if (!wanted.any) wish.server = wanted.server;
  if (wanted.other != 0) wish.known_as = wanted.other;
  const auto invited = moves_.invite(wish, link, machine_.next_view(), clock_.now());
  if (!invited.ok()) return invited.status();
  Config told = config_;
  if (!told.checkpoint.folder.empty()) told.checkpoint.folder = absolute(told.checkpoint.folder);
  if (!told.checkpoint.source.empty()) told.checkpoint.source = absolute(told.checkpoint.source);
  const std::string settings = lines_of(told_variables(told, machine_.admission().workers()));
  for (const ServerMigrations::JoinTicket& one : *invited) {
    log(Level::kInfo, "server {} joins, and is to have the place of server {}", one.server,
        one.from);
    van_.send_control(
        link,
        control::Move{.server = one.server, .joining = 1, .other = one.from, .settings = settings});
  }
  return {};
}

void MigrationService::part_with_moved(const Publish& order) {
  for (const Publish::Loss& lost : order.lost) moves_.note_loss(lost.node, lost.cause);
  for (const Member& member : order.changed) {
    if (!has_moved(member, machine_.view())) continue;
    log(Level::kInfo, "{}", successor_of(member, machine_.view()));
    watch_.moved(member);
    const LinkId link = links_.of(member.node);
    if (link == 0) continue;
    van_.send_control(link, control::Leave{});
    van_.links().await(link, Return::kUnlessEnded);
  }
}

std::vector<MemberExit> MigrationService::note_ends(std::vector<MemberExit> ends) {
  for (const MemberExit& end : ends) {
    if (end.role == Role::kServer) moves_.note_end(end.rank);
  }
  // These were checked when reported: another server may have the number by now.
  ends.insert(ends.end(), guests_ended_.begin(), guests_ended_.end());
  guests_ended_.clear();
  return ends;
}

void MigrationService::forget(LinkId link) {
  moves_.forget(link);
  std::erase_if(waiting_, [link](const auto& each) { return each.first == link; });
}

Result<Join> MigrationService::wanted(Result<Join> join) const {
  const bool named = join.ok() && join->role == Role::kServer && join->rank >= 0 &&
                     join->rank < std::int64_t{config_.server_numbers()};
  if (!named || !moves_.is_given_up(static_cast<Rank>(join->rank), clock_.now())) return join;
  return Status(Code::kRefused,
                fmt::format("server {} has been given up, and comes too late", join->rank));
}

void MigrationService::turned_away(const Join& join) {
  const bool named = join.role == Role::kServer && join.rank >= 0 && join.shard == 0;
  const bool may_be = named && join.rank < std::int64_t{config_.server_numbers()};
  if (!may_be || machine_.phase() != ViewMachine::Phase::kRunning) return;
  const auto number = static_cast<Rank>(join.rank);
  if (config_.is_guest_server(number) || !config_.job.servers_replaced()) return;
  std::uint32_t others = 0;
  for (const auto& [node, member] : machine_.next_view().members) {
    const bool is_there = member.role == Role::kServer && member.shard == 0 && !member.left;
    if (is_there && member.number() == number) return;
    others += is_there && member.rank == number % config_.servers ? 1 : 0;
  }
  if (others == 2) drop(number);
}

void MigrationService::drop(Rank server) {
  watch_.unwanted(server);
  chronicle_.unwanted(server);
}

// Rejects the server if it still joins.
void MigrationService::give_up(const MigrationResult& answer) {
  log(Level::kWarning, "a place is not handed over: {}", answer.why.cause());
  if (answer.guest) return;  // Its requester is answered.
  drop(answer.server);
}

void MigrationService::tick() {
  if (launcher_ != nullptr) {
    for (const StartRefusal& refusal : launcher_->take_refusals()) moves_.refuse(refusal);
  }
  if (links_.expected() == 0) {
    for (const auto& [link, wanted] : std::exchange(waiting_, {})) answer(link, wanted);
  }
  const auto awaited = [this](NodeId node) { return links_.is_expected(node); };
  std::vector<MigrationResult> answers = farewells_.follow(machine_.next_view(), awaited);
  std::ranges::move(moves_.follow(machine_.next_view(), clock_.now()), std::back_inserter(answers));
  for (const MigrationResult& answer : answers) {
    if (!answer.why.ok()) give_up(answer);
    van_.send_control(answer.asker, control::Move{.server = answer.server,
                                                  .why = answer.why,
                                                  .other = answer.guest ? answer.from : 0});
  }
}

bool has_moved(const Member& gone, const View& view) {
  return gone.role == Role::kServer && gone.left && !gone.lost && view.find(gone.node) == nullptr;
}

void tell_of_standby(const StandbyCaughtUp& caught, const View& view) {
  const Member* server = view.find(caught.server);
  const Member* standby = view.find(caught.standby);
  const bool news = view.epoch > 1 && !view.caught_up.contains(caught.standby);
  // A promoted server has been logged as such.
  if (!news || server == nullptr || standby == nullptr || !standby->standby) return;
  log(Level::kInfo, "{} has all that {} has, and stands by for it", standby->describe(),
      server->describe());
}

}  // namespace stretto
