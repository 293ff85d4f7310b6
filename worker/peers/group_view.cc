// SPDX-License-Identifier: Apache-2.0
// Tracks the wanted group, sends reports, and handles decisions.
#include "worker/peers/group_view.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace stretto {
namespace {

// The members at this step. Workers that join later have a later step's number. A worker that left
// in order is a member until its link ends: values of its rounds may still be in flight.
std::vector<NodeId> who_is_in(const Roster& roster, const PeerLinks& peers, std::uint64_t step) {
  std::vector<NodeId> nodes;
  for (const Member& member : roster.members) {
    if (member.role != Role::kWorker || member.joining || member.from_step > step) continue;
    const bool lingers = member.left && !member.lost && peers.link_to(member.node) != 0;
    if (!member.left || lingers) nodes.push_back(member.node);
  }
  std::ranges::sort(nodes);
  return nodes;
}

}  // namespace

Status GroupView::follow(const Roster& roster, NodeId self, std::uint64_t step) {
  const std::tuple now(roster.epoch, peers_.lost(), step);
  if (!begun_ || std::exchange(followed_, now) == now) return unreachable_;
  std::vector<NodeId> wanted = who_is_in(roster, peers_, step);
  if (wanted == wanted_ || !std::ranges::binary_search(wanted, self)) return unreachable_;
  self_ = self;
  wanted_ = std::move(wanted);
  std::vector<NodeId> called = wanted_;
  std::erase_if(called, [&roster](NodeId node) { return roster.find(node)->left; });
  unreachable_ = peers_.want(roster, self, called);
  for (const Member& member : roster.members) {
    if (member.left) choice_.forget(member.node);
  }
  // A report holds until the decision: other workers may have received it.
  if (unreachable_.ok() && (waits_ || wanted_ != members_)) stand();
  return unreachable_;
}

void GroupView::stand() {
  const bool only_more =
      generation_ > 0 && wanted_ != members_ && std::ranges::includes(wanted_, members_);
  waits_ = true;
  stopped_ = stopped_ || !only_more;
  said_ = {.decided = false,
           .generation = generation_,
           .members = wanted_,
           .finished = ways_.stop(stopped_)};
  if (decider() != self_) return greet(decider());
  choice_.note(self_, said_);
  if (wanted_ == members_) ask();
  decide();
}

// Pending joins were cancelled. A member that has not reached their step yet knows nothing of them,
// and must be asked.
void GroupView::ask() {
  for (const NodeId node : wanted_) {
    if (node != self_) peers_.tell(peers_.link_to(node), said_);
  }
}

void GroupView::greet(NodeId node) {
  const LinkId link = peers_.link_to(node);
  if (waits_ && node == decider() && link != 0) van_.send_control(link, said_);
}

void GroupView::on_said(NodeId from, const control::Regroup& said) {
  const bool we_decide = decider() == self_;
  if (said.decided) {
    const bool is_ours =
        waits_ && from == decider() && said.generation > generation_ &&
        std::ranges::adjacent_find(said.members, std::greater_equal()) == said.members.end() &&
        std::ranges::binary_search(said.members, self_) &&
        std::ranges::includes(said_.members, said.members);
    if (is_ours) take(said);
    return;
  }
  choice_.note(from, said);
  const bool asks = said.members == members_ && said.generation == generation_;
  if (waits_) {
    if (we_decide) decide();
  } else if (begun_ && generation_ > 0 && asks && (we_decide || from == decider())) {
    stand();
  }
}

void GroupView::decide() {
  const std::optional<control::Regroup> decided = choice_.decide(self_, members_);
  if (!decided) return;
  for (const NodeId node : decided->members) {
    const LinkId link = peers_.link_to(node);
    if (link != 0) van_.send_control(link, *decided);
  }
  take(*decided);
}

void GroupView::take(const control::Regroup& decided) {
  generation_ = decided.generation;
  members_ = decided.members;
  waits_ = false;
  stopped_ = false;
  ways_.go_on(decided);
  if (wanted_ != members_) stand();
}

}  // namespace stretto
