// SPDX-License-Identifier: Apache-2.0
// Questions, answers and farewells.
#include "scheduler/move_desk.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "common/log.h"
#include "common/told_variables.h"

namespace stretto {

namespace {

// Which are the same wherever a process stands.
std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path made = std::filesystem::absolute(path, error);
  return error ? path : made.string();
}

}  // namespace

Status MoveDesk::refusal(const control::Move& wanted) const {
  if (machine_.phase() != ViewMachine::Phase::kRunning) {
    return {Code::kRefused, "the job does not run yet, or any more"};
  }
  if (launcher_ == nullptr || launcher_->told() || wanted.joining != 0) return {};
  return {Code::kUnsupported,
          "nobody is there who starts another process: stretto-launch has not started the job"};
}

void MoveDesk::ask(LinkId link, const control::Move& wanted) {
  if (!wanted.why.ok()) {
    const bool counts = config_.is_guest_server(wanted.server) && guests_ended_.size() < kMaxNodes;
    if (counts) guests_ended_.push_back({Role::kServer, wanted.server});
    return;
  }
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
  van_.send_control(
      link, control::Move{.server = wanted.server, .why = status, .joining = wanted.joining});
}

Status MoveDesk::invite(LinkId link, const control::Move& wanted) {
  PlaceWish wish{.count = wanted.joining, .machine = wanted.machine};
  if (!wanted.any) wish.server = wanted.server;
  if (wanted.other != 0) wish.known_as = wanted.other;
  const auto invited = moves_.invite(wish, link, machine_.next_view(), clock_.now());
  if (!invited.ok()) return invited.status();
  Config told = config_;
  if (!told.checkpoint.folder.empty()) told.checkpoint.folder = absolute(told.checkpoint.folder);
  if (!told.checkpoint.source.empty()) told.checkpoint.source = absolute(told.checkpoint.source);
  const std::string settings = lines_of(told_variables(told, machine_.admission().workers()));
  for (const Moves::Invitation& one : *invited) {
    log(Level::kInfo, "server {} joins, and is to have the place of server {}", one.server,
        one.from);
    van_.send_control(
        link,
        control::Move{.server = one.server, .joining = 1, .other = one.from, .settings = settings});
  }
  return {};
}

void MoveDesk::part_with_moved(const Publish& order) {
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

std::vector<MemberEnd> MoveDesk::note_ends(std::vector<MemberEnd> ends) {
  ends.insert(ends.end(), guests_ended_.begin(), guests_ended_.end());
  guests_ended_.clear();
  for (const MemberEnd& end : ends) {
    if (end.role == Role::kServer) moves_.note_end(end.rank);
  }
  return ends;
}

// Whoever may still come is not wanted any more.
void MoveDesk::give_up(const Moves::Answer& answer) {
  log(Level::kWarning, "a place is not handed over: {}", answer.why.cause());
  if (answer.guest) return;  // Who has started it hears of it.
  watch_.unwanted(answer.server);
  chronicle_.unwanted(answer.server);
}

void MoveDesk::tick() {
  if (launcher_ != nullptr) {
    for (const StartRefusal& refusal : launcher_->take_refusals()) moves_.refuse(refusal);
  }
  const auto awaited = [this](NodeId node) { return links_.is_expected(node); };
  for (const Moves::Answer& answer : moves_.follow(machine_.next_view(), clock_.now(), awaited)) {
    if (!answer.why.ok()) give_up(answer);
    van_.send_control(answer.asker, control::Move{.server = answer.server,
                                                  .why = answer.why,
                                                  .other = answer.guest ? answer.from : 0});
  }
}

bool has_moved(const Member& gone, const View& view) {
  return gone.role == Role::kServer && gone.left && !gone.lost && view.find(gone.node) == nullptr;
}

void tell_of_standby(const Caught& caught, const View& view) {
  const Member* server = view.find(caught.server);
  const Member* standby = view.find(caught.standby);
  const bool news = view.epoch > 1 && !view.caught_up.contains(caught.standby);
  // One that serves by now has been told of as such.
  if (!news || server == nullptr || standby == nullptr || !standby->standby) return;
  log(Level::kInfo, "{} has all that {} has, and stands by for it", standby->describe(),
      server->describe());
}

}  // namespace stretto
