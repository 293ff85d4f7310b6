// SPDX-License-Identifier: Apache-2.0
// Calls, answers, and who does not answer.
#include "worker/shard_links.h"

#include <fmt/format.h>

#include "common/address.h"
#include "common/check.h"
#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kShardPatience = 10s;

}  // namespace

Status ShardLinks::connect(const Roster& roster, const control::Hello& hello, Time now) {
  STRETTO_CHECK(!called());
  for (const Member& member : roster.members) {
    if (member.role != Role::kServer) continue;
    Result<LinkId> link = van_.links().connect(member.address, hello);
    if (!link.ok()) return std::move(link.status()).with_peer(member.describe());
    shards_[member.node] = {.member = member, .link = *link};
  }
  deadline_ = now + kShardPatience;
  called_ = roster.servers == 0 || !shards_.empty();
  if (called_) return {};
  return Status(Code::kMalformed, "the scheduler's roster names no server")
      .with_peer("scheduler")
      .with_operation("join");
}

void ShardLinks::welcome(LinkId link) {
  for (auto& [node, shard] : shards_) {
    if (shard.link != link) continue;
    van_.links().admit(link, node);
    if (!std::exchange(shard.welcomed, true)) ++welcomed_;
    return;
  }
}

Status ShardLinks::silence(Time now) const {
  if (now < next_due()) return {};
  for (const auto& [node, shard] : shards_) {
    if (shard.welcomed) continue;
    const Member& member = shard.member;
    return Status(Code::kServerLost,
                  fmt::format(
                      "{} at {} did not answer within {} s: this host cannot reach it, or it "
                      "may open no more files, which its log says then",
                      member.describe(), host_port_of(member.address), seconds(kShardPatience)))
        .with_peer(member.describe())
        .with_operation("join");
  }
  return {};
}

const Member* ShardLinks::find(LinkId link) const {
  for (const auto& [node, shard] : shards_) {
    if (shard.link == link) return &shard.member;
  }
  return nullptr;
}

LinkId ShardLinks::link_to(NodeId node) const {
  const auto found = shards_.find(node);
  return found == shards_.end() ? 0 : found->second.link;
}

void ShardLinks::tell_all(const control::Message& message) {
  for (const auto& [node, shard] : shards_) van_.send_control(shard.link, message);
}

}  // namespace stretto
