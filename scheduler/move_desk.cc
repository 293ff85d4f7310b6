// SPDX-License-Identifier: Apache-2.0
// Questions, answers and farewells.
#include "scheduler/move_desk.h"

#include <fmt/format.h>

#include "common/log.h"

namespace stretto {

void MoveDesk::ask(LinkId link, const control::Move& wanted) {
  Status status;
  if (machine_.phase() != ViewMachine::Phase::kRunning) {
    status = {Code::kRefused, "the job does not run yet, or any more"};
  } else if (launcher_ != nullptr && !launcher_->told()) {
    status = {Code::kUnsupported,
              "nobody is there who starts another process: stretto-launch has not started the job"};
  } else {
    status = moves_.begin(wanted.server, wanted.host, link, machine_.next_view(), clock_.now());
  }
  if (status.ok()) return;
  log(Level::kWarning, "the place of server {} is not handed over: {}", wanted.server,
      status.cause());
  van_.send_control(link, control::Move{.server = wanted.server, .why = status});
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
  for (const MemberEnd& end : ends) {
    if (end.role == Role::kServer) moves_.note_end(end.rank);
  }
  return ends;
}

// Whoever may still come is not wanted any more.
void MoveDesk::give_up(const Moves::Answer& answer) {
  log(Level::kWarning, "a place is not handed over: {}", answer.why.cause());
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
    van_.send_control(answer.asker, control::Move{.server = answer.server, .why = answer.why});
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
