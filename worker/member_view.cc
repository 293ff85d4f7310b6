// SPDX-License-Identifier: Apache-2.0
// Who is wanted, what is said, and what is heard.
#include "worker/member_view.h"

#include <algorithm>
#include <utility>

namespace stretto {
namespace {

// Those who are in at this step. Who comes in later has a number of a later step. Who has left in
// order is in until its link ends: values of rounds that it has made may still be on the way.
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

Status MemberView::follow(const Roster& roster, NodeId self, std::uint64_t step) {
  if (!begun_) return {};
  std::vector<NodeId> wanted = who_is_in(roster, peers_, step);
  if (wanted == wanted_ || !std::ranges::binary_search(wanted, self)) return {};
  self_ = self;
  wanted_ = std::move(wanted);
  std::vector<NodeId> called = wanted_;
  std::erase_if(called, [&roster](NodeId node) { return roster.find(node)->left; });
  Status status = peers_.want(roster, self, called);
  if (status.ok() && wanted_ != members_) stand();
  return status;
}

void MemberView::stand() {
  waits_ = true;
  said_ = {
      .decided = false, .generation = generation_, .members = wanted_, .finished = ways_.stop()};
  if (decider() == self_) {
    regrouping_.note(self_, said_);
    return decide();
  }
  greet(decider());
}

void MemberView::greet(NodeId node) {
  const LinkId link = peers_.link_to(node);
  if (waits_ && node == decider() && link != 0) van_.send_control(link, said_);
}

void MemberView::on_said(NodeId from, const control::Regroup& said) {
  if (!said.decided) {
    regrouping_.note(from, said);
    if (waits_ && decider() == self_) decide();
    return;
  }
  const bool is_ours = waits_ && from == decider() && said.generation > generation_ &&
                       said.generation <= ~std::uint32_t{0} &&
                       std::ranges::is_sorted(said.members) &&
                       std::ranges::binary_search(said.members, self_);
  if (is_ours) take(said);
}

void MemberView::decide() {
  const std::optional<control::Regroup> decided = regrouping_.decide(self_, members_);
  if (!decided) return;
  for (const NodeId node : decided->members) {
    const LinkId link = peers_.link_to(node);
    if (link != 0) van_.send_control(link, *decided);
  }
  take(*decided);
}

void MemberView::take(const control::Regroup& decided) {
  generation_ = decided.generation;
  members_ = decided.members;
  waits_ = false;
  ways_.go_on(decided);
  if (wanted_ != members_) stand();
}

}  // namespace stretto
