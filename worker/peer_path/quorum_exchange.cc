// SPDX-License-Identifier: Apache-2.0
// Contributions are sent as copies: an operation may end before its contribution has left, and its
// memory is the caller's again.
#include "worker/peer_path/quorum_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/check.h"
#include "common/memory/copy_bytes.h"

namespace stretto {
namespace {

bool keeps_own(const TensorState& tensor) {
  const CloseOptions& close = tensor.spec.options.close;
  return close.backups == 0 && close.late == Late::kOwn;
}

// True if a contribution still counts after its round has closed.
bool counts_late(const TensorState& tensor) {
  const CloseOptions& close = tensor.spec.options.close;
  return close.backups == 0 && close.late == Late::kNext;
}

}  // namespace

void QuorumExchange::prepare(const TensorState& tensor, PeerTensor& known) {
  const auto workers = static_cast<std::uint32_t>(known.members.nodes.size());
  for (const PeerPart& part : known.parts) {
    const collective::TreeNode& node = part.rounds.reduction().node();
    QuorumPart& made = known.closing.emplace_back();
    made.root = node.is_root() ? known.members.self : node.parent;
    if (node.is_root()) made.rounds.emplace(workers, tensor.spec.options.close);
  }
}

// ---- this worker's contributions

void QuorumExchange::start_next(const At& at) {
  if (at.tensor.parts[at.part].next(PartState::kShares) != nullptr) start(at);
}

void QuorumExchange::start(const At& at) {
  QuorumPart& part = at.closing();
  const OperationPtr operation = at.current();  // NOLINT: it is kept alive.
  const std::uint64_t round = part.begun + 1;
  if (at.known.doom && round >= at.known.doom->round) {
    return outcomes_.fail_tensor(at.tensor.id, at.known.doom->why);
  }
  ++operation->parts_begun;
  part.begun = round;
  part.priority = operation->priority;
  outcomes_.progress.most_rounds = std::max(outcomes_.progress.most_rounds, round);
  std::span<const std::byte> source;
  if (!operation->source.empty()) source = at.tensor.bytes_of(operation->source, at.part);
  const Dtype dtype = at.tensor.spec.dtype;
  if (part.values.contains(round) && !counts_late(at.tensor)) {
    if (keeps_own(at.tensor)) part.withhold(dtype, source);
    contribute(at, round, {});
  } else {
    const QuorumPart::Share share = part.share_of(dtype, source);
    if (keeps_own(at.tensor)) part.sent = share;
    contribute(at, round, share);
  }
  if (at.tensor.failed.ok()) take(at);
}

void QuorumExchange::contribute(const At& at, std::uint64_t round, const QuorumPart::Share& share) {
  QuorumPart& part = at.closing();
  if (part.rounds) return come(at, at.known.members.self, round, share.bytes.bytes(), share.from);
  part.unsent = !at.known.ready.contains(part.root);
  if (part.unsent) {
    part.sent = share;
    return;
  }
  const wire::ReduceFrame up{.key = {at.tensor.id, at.part},
                             .round = round,
                             .root = share.from,
                             .absent = share.bytes.empty(),
                             .dtype = at.tensor.spec.dtype,
                             .priority = part.priority};
  send(at, part.root, up.header(), share.bytes, at.current().get());
}

// Ends the operation that began last if its value has arrived, and starts the next one.
void QuorumExchange::take(const At& at) {
  QuorumPart& part = at.closing();
  if (part.begun == part.finished || !part.values.contains(part.begun)) return;
  const QuorumPart::Value value = part.take();
  if (value.without_ours && keeps_own(at.tensor)) {
    part.withhold(at.tensor.spec.dtype, part.sent.bytes.bytes(), part.sent.from);
  }
  part.sent = {};
  PartState& lanes = at.tensor.parts[at.part];
  const OperationPtr operation = lanes.end(PartState::kShares);
  copy_bytes(value.bytes.bytes(), at.tensor.bytes_of(operation->target, at.part));
  const wire::ValueFacts facts{.version = part.finished,
                               .slowest = part.finished,
                               .own_applied = part.finished,
                               .spread = 0,
                               .contributors = value.contributors};
  operation->note(lanes.last.info_of(facts));
  lanes.last.note(facts);
  outcomes_.progress.staleness.add(value.without_ours ? 1 : 0);
  if (--operation->parts_left == 0) {
    if (operation->paused) van_.queue().resume(operation->id);  // No ticket can do so later.
    outcomes_.end(operation, {});
  }
  start_next(at);
}

// ---- at the root

void QuorumExchange::come(const At& at, Place from, std::uint64_t round,
                          std::span<const std::byte> share, std::uint32_t contributions) {
  QuorumPart& part = at.closing();
  const auto use = part.rounds->come(from, round, van_.clock().now());
  if (!use.ok()) return fail(at, from, use.status());
  if (*use == collective::QuorumRounds::Use::kAdd) {
    part.add(at.known.reduction, at.tensor.spec.dtype, share, contributions);
  }
  settle(at);
}

// Closes the rounds that may close, and schedules the next one.
void QuorumExchange::settle(const At& at) {
  const wire::Key key{at.tensor.id, at.part};
  while (at.tensor.failed.ok()) {
    const QuorumPart& part = at.closing();
    const Time when = part.rounds->closes_at();
    // A worker that does not know the tensor would drop the value.
    if (when == Time::max() || !at.known.ready.full()) break;
    if (when > van_.clock().now()) {
      due_[key] = {.tensor = &at.tensor, .known = &at.known, .at = when};
      return;
    }
    close(at);
  }
  due_.erase(key);
}

void QuorumExchange::close(const At& at) {
  QuorumPart& part = at.closing();
  const std::uint64_t round = part.rounds->open();
  const IndexSet in = part.rounds->in();
  part.rounds->close();
  const Place self = at.known.members.self;
  const QuorumPart::Value& value = part.values[round] =
      part.make_value(at.known.reduction, at.tensor.spec.dtype,
                      at.tensor.cut.bytes_of_part(at.part), !in.contains(self));
  wire::BroadcastFrame down{.key = {at.tensor.id, at.part},
                            .round = round,
                            .contributors = value.contributors,
                            .dtype = at.tensor.spec.dtype,
                            .priority = part.priority};
  const auto places = static_cast<Place>(at.known.members.nodes.size());
  for (Place next = 1; next < places; ++next) {
    const Place place = (self + next) % places;
    down.without_yours = !in.contains(place);
    send(at, place, down.header(), value.bytes, nullptr);
  }
  take(at);
}

// ---- over links

void QuorumExchange::send(const At& at, Place to, const wire::Header& header, const Buffer& payload,
                          const Operation* of) {
  const LinkId link = peers_.link_to(at.known.members.nodes[to], at.known.members.turn_of(at.part));
  if (link == 0) return;  // A departed worker needs no values, and late contributions do not count.
  const std::uint64_t tag = of == nullptr ? 0 : of->id;
  const Time deadline = of == nullptr ? Time::max() : of->deadline_wanted;
  van_.send(link, header, payload,
            {.tag = tag, .deadline = deadline, .bulk = at.tensor.spec.options.bulk});
  if (of != nullptr && of->paused) van_.queue().pause(tag);
}

void QuorumExchange::on_ready(TensorState& tensor, PeerTensor& known, Place place) {
  for (std::uint32_t index = 0; index < known.closing.size(); ++index) {
    const At at{tensor, known, index};
    QuorumPart& part = at.closing();
    if (!tensor.failed.ok()) return;
    if (part.rounds) {
      settle(at);
    } else if (part.root == place && std::exchange(part.unsent, false)) {
      contribute(at, part.begun, part.sent);
    }
  }
}

void QuorumExchange::on_data(const At& at, Place from, const wire::Header& header,
                             const Buffer& payload) {
  const Status sound = at.check_bytes(header, payload.size());
  if (!sound.ok()) return fail(at, from, sound);
  QuorumPart& part = at.closing();
  if (header.kind == wire::Kind::kUp) {
    const wire::ReduceFrame up = wire::ReduceFrame::of(header);
    const bool of_some = up.root >= 1 && up.root <= 1 + collective::kMostBehind;
    if (!part.rounds || up.is_value || up.assigns || !of_some) {
      return fail(at, from, {Code::kMalformed, "a contribution came that cannot be meant"});
    }
    part.priority = up.priority;
    return come(at, from, up.round, payload.bytes(), up.root);
  }
  const wire::BroadcastFrame down = wire::BroadcastFrame::of(header);
  if (from != part.root || part.rounds || !part.may_come(down.round)) {
    return fail(at, from,
                {Code::kMalformed, fmt::format("a value of round {} came, in round {}", down.round,
                                               part.finished + 1)});
  }
  part.values[down.round] = {.bytes = to_keep(payload),
                             .contributors = std::min(down.contributors, kMaxNodes),
                             .without_ours = down.without_yours};
  take(at);
}

// ---- time

void QuorumExchange::tick() {
  if (due_.empty() || next_due() > van_.clock().now()) return;
  const std::map<wire::Key, Due> due = due_;
  for (const auto& [key, each] : due) {
    if (each.at <= van_.clock().now()) settle({*each.tensor, *each.known, key.part});
  }
}

Time QuorumExchange::next_due() const {
  Time next = Time::max();
  for (const auto& [key, each] : due_) next = std::min(next, each.at);
  return next;
}

std::string QuorumExchange::missing(const PeerTensor& known) {
  std::set<Rank> ranks;
  for (const QuorumPart& part : known.closing) {
    if (part.begun == part.finished) continue;
    if (part.rounds) {
      for (const Place place : part.rounds->awaited()) ranks.insert(known.members.ranks[place]);
    } else {
      ranks.insert(known.members.ranks[part.root]);
    }
  }
  return fmt::format("waits for workers {}, or for who contributes to them",
                     fmt::join(ranks, ", "));
}

void QuorumExchange::fail(const At& at, Place from, const Status& why) {
  outcomes_.fail_tensor(at.tensor.id, at.blame(from, why));
}

}  // namespace stretto
