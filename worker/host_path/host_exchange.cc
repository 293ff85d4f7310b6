// SPDX-License-Identifier: Apache-2.0
// The contribution is sent as a copy, which peers read while the operation's memory gets the value.
#include "worker/host_path/host_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/check.h"
#include "common/memory/copy_bytes.h"

namespace stretto {
namespace {

// Values made in one iteration of the loop.
constexpr int kValuesAtOnce = 4;

}  // namespace

void HostExchange::prepare(const TensorState& tensor, PeerTensor& known) {
  const TensorOptions& options = tensor.spec.options;
  const bool direct =
      options.exchange == Exchange::kDirect || options.exchange == Exchange::kHierarchical;
  const bool fixed = !known.elastic && known.group == nullptr && options.close.waits_for_all();
  if (!direct || !fixed || !goes_to_all(known.members.machines, tensor.spec.bytes())) return;
  for (const PeerPart& part : known.parts) {
    const collective::TreeNode& node = part.rounds.reduction().node();
    known.host.push_back({.first = node.is_root() ? known.members.self : node.parent});
  }
}

// ---- out

void HostExchange::start_next(const At& at) {
  if (at.tensor.parts[at.part].next(PartState::kShares) != nullptr) start(at);
}

void HostExchange::start(const At& at) {
  const std::uint64_t round = at.host().begun + 1;
  if (at.known.doom && round >= at.known.doom->round) {
    return outcomes_.fail_tensor(at.tensor.id, at.known.doom->why);
  }
  HostPart& part = at.host();
  const OperationPtr operation = at.current();  // NOLINT: it is kept alive.
  ++operation->parts_begun;
  part.begun = round;
  outcomes_.progress.most_rounds = std::max(outcomes_.progress.most_rounds, part.begun);
  if (!operation->source.empty()) {
    const std::span<const std::byte> source = at.tensor.bytes_of(operation->source, at.part);
    part.own = van_.allocate(source.size());
    copy_bytes(source, part.own.writable());
  }
  const auto places = static_cast<Place>(at.known.members.nodes.size());
  for (Place next = 1; next < places; ++next) {
    const Place to = (at.known.members.self + next) % places;
    at.known.ready.contains(to) ? give(at, to) : part.unsent.push_back(to);
  }
  if (agree(at)) settle(at);
}

void HostExchange::give(const At& at, Place to) {
  const HostPart& part = at.host();
  const OperationPtr& operation = at.current();
  const bool broadcasts = operation->broadcasts();
  const wire::ReduceFrame up{.key = {at.tensor.id, at.part},
                             .round = part.begun,
                             .root = broadcasts ? operation->root : 0,
                             .assigns = broadcasts,
                             .absent = part.own.empty(),
                             .dtype = at.tensor.spec.dtype,
                             .priority = operation->priority};
  const Participants& members = at.known.members;
  van_.send(peers_.link_to(members.nodes[to], members.turn_of(at.part)), up.header(), part.own,
            {.tag = operation->id,
             .deadline = operation->deadline_wanted,
             .bulk = at.tensor.spec.options.bulk});
  if (operation->paused) van_.queue().pause(operation->id);
}

void HostExchange::on_ready(TensorState& tensor, PeerTensor& known, Place place) {
  for (std::uint32_t index = 0; index < known.host.size(); ++index) {
    const At at{tensor, known, index};
    if (std::erase(at.host().unsent, place) != 0) give(at, place);
  }
}

// ---- in

void HostExchange::on_data(const At& at, Place from, const wire::Header& header,
                           const Buffer& payload) {
  const Status sound = at.check_bytes(header, payload.size());
  if (!sound.ok()) return fail(at, from, sound);
  if (!at.known.ready.contains(from)) {
    return fail(at, from, {Code::kMalformed, "a contribution came before the tensor was declared"});
  }
  HostPart& part = at.host();
  const wire::ReduceFrame up = wire::ReduceFrame::of(header);
  const HostPart::Verdict verdict = part.admit(up.round);
  if (header.kind != wire::Kind::kUp || up.is_value || verdict == HostPart::Verdict::kWrong) {
    return fail(at, from,
                {Code::kMalformed, fmt::format("a frame of round {} came, in round {}", up.round,
                                               part.finished + 1)});
  }
  std::vector<HostPart::Given>& given = verdict == HostPart::Verdict::kNow ? part.here : part.ahead;
  if (std::ranges::count(given, from, &HostPart::Given::from) != 0) {
    return fail(at, from, {Code::kMalformed, "a second contribution came for one round"});
  }
  given.push_back({.from = from, .frame = up, .payload = payload});
  const bool whole = part.is_whole(at.known.members.nodes.size());
  // A payload that is read at once need not be copied.
  const bool now = whole && !is_held(*at.current()) && !payload.empty() && !payload.lasting();
  if (!now) given.back().payload = to_keep(payload);
  if (verdict == HostPart::Verdict::kNext) return;
  if (!agree(at)) return;
  now ? make(at) : settle(at);
}

// Checks that peers' calls match this member's, if it has made one.
bool HostExchange::agree(const At& at) {
  const HostPart& part = at.host();
  if (part.begun == part.finished) return true;
  for (const HostPart::Given& given : part.here) {
    const Status status = at.check_call(given.from, given.frame, at.current());
    if (status.ok()) continue;
    fail(at, given.from, status);
    return false;
  }
  return true;
}

// Other members need a paused contribution: an operation does not end before they have it.
bool HostExchange::is_held(const Operation& operation) const {
  return operation.paused && van_.queue().backlog().untouched(operation.id) > 0;
}

void HostExchange::settle(const At& at) {
  HostPart& part = at.host();
  const bool whole = part.is_whole(at.known.members.nodes.size()) && !is_held(*at.current());
  if (!whole || std::exchange(part.queued, true)) return;
  whole_.push_back({.tensor = &at.tensor,
                    .known = &at.known,
                    .part = at.part,
                    .priority = at.current()->priority});
}

void HostExchange::go_on(const At& at) {
  if (at.host().begun > at.host().finished) settle(at);
  start_next(at);
}

// ---- values

void HostExchange::tick() {
  for (int made = 0; made < kValuesAtOnce && !whole_.empty(); ++made) {
    const auto next = std::ranges::max_element(whole_, {}, &Whole::priority);
    const At at{*next->tensor, *next->known, next->part};
    whole_.erase(next);
    if (!at.tensor.failed.ok()) continue;
    at.host().queued = false;
    if (!is_held(*at.current())) make(at);
  }
}

void HostExchange::make(const At& at) {
  HostPart& part = at.host();
  const OperationPtr& operation = at.current();
  const std::span<std::byte> target = at.tensor.bytes_of(operation->target, at.part);
  make_value_of_all(at.known.reduction_for(operation), at.tensor.spec.dtype, target,
                    part.contributions(at.known.members.self), at.known.all.size());
  part.next_round();
  end_operation(at);
  if (at.tensor.failed.ok()) start_next(at);
}

void HostExchange::end_operation(const At& at) {
  const std::uint64_t round = at.host().finished;
  const wire::ValueFacts facts{.version = round,
                               .slowest = round,
                               .own_applied = round,
                               .spread = 0,
                               .contributors = at.known.all.size()};
  PartState& lanes = at.tensor.parts[at.part];
  const OperationPtr operation = lanes.end(PartState::kShares);
  operation->note(lanes.last.info_of(facts));
  lanes.last.note(facts);
  outcomes_.progress.staleness.add(0);
  if (--operation->parts_left > 0) return;
  if (operation->paused) van_.queue().resume(operation->id);  // No ticket can do so later.
  outcomes_.end(operation, {});
}

std::string HostExchange::missing(const PeerTensor& known) {
  std::set<Rank> ranks;
  for (const HostPart& part : known.host) {
    if (part.begun == part.finished) continue;
    for (Place place = 0; place < known.members.nodes.size(); ++place) {
      const bool gave = std::ranges::count(part.here, place, &HostPart::Given::from) != 0;
      if (!gave && place != known.members.self) ranks.insert(known.members.ranks[place]);
    }
  }
  return fmt::format("waits for workers {}", fmt::join(ranks, ", "));
}

void HostExchange::fail(const At& at, Place from, const Status& why) {
  outcomes_.fail_tensor(at.tensor.id, at.blame(from, why));
}

}  // namespace stretto
