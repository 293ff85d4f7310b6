// SPDX-License-Identifier: Apache-2.0
// Sums are made in the operation's memory; in elastic jobs in separate memory.
#include "worker/peer_state/peer_part.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/memory/copy_bytes.h"

namespace stretto {
namespace {

using Verdict = collective::PartRounds::Verdict;

// The name of a call in its caller's program.
std::string call_of(bool broadcast, std::uint32_t root) {
  return broadcast ? fmt::format("broadcast from worker {}", root) : "push_pull";
}

}  // namespace

void PeerPartRef::begin_sum() const {
  STRETTO_CHECK(current() != nullptr);
  PeerPart& own = state();
  const Operation& operation = *current();
  std::span<const std::byte> source;
  if (!operation.source.empty()) source = tensor.bytes_of(operation.source, part);
  own.has_value = false;
  own.sum_from = 0;
  if (!known.elastic) {
    return own.sum.begin(source, tensor.bytes_of(operation.target, part));
  }
  const std::size_t bytes = tensor.cut.bytes_of_part(part);  // A listener may want no bytes.
  if (!own.made.exclusive() || own.made.size() != bytes) own.made = Buffer::allocate(bytes);
  own.sum.begin(source, own.made.writable());
}

void PeerPartRef::make_value() const {
  PeerPart& own = state();
  own.has_value = true;
  own.value_from = known.elastic ? own.sum_from : own.rounds.reduction().contributors().size();
  own.sum.finish(known.reduction_for(operation()), tensor.spec.dtype, std::max(own.value_from, 1U));
  if (known.elastic) own.value = std::exchange(own.made, {});
}

Buffer PeerPartRef::sum_to_send(const std::shared_ptr<Waker>& waker) const {
  const PeerPart& own = state();
  if (own.has_value) return value_to_send(waker);
  if (known.elastic && !own.sum.in_source()) return own.made;
  const OperationPtr taking = operation();
  const bool in_place = taking->source.data() == taking->target.data();
  // The value may arrive before all readers of this know that they do not need it.
  if (known.elastic && in_place) return Buffer::copy_of(own.sum.bytes());
  return lease(taking, own.sum.bytes(), waker);
}

Buffer PeerPartRef::value_to_send(const std::shared_ptr<Waker>& waker) const {
  const PeerPart& own = state();
  if (known.elastic) return own.value;
  return lease(operation(), own.sum.target(), waker);
}

OperationPtr PeerPartRef::end_operation() const {
  const PeerPart& own = state();
  PartState& lanes = tensor.parts[part];
  const std::uint64_t round = own.rounds.finished();
  const wire::ValueFacts facts{.version = round,
                               .slowest = round,
                               .own_applied = round,
                               .spread = 0,
                               .contributors = known.elastic ? own.value_from : known.all.size()};
  OperationPtr ended = lanes.end(PartState::kShares);
  if (known.elastic && !ended->target.empty()) {
    copy_bytes(own.value.bytes(), tensor.bytes_of(ended->target, part));
  }
  ended->note(lanes.last.info_of(facts));
  lanes.last.note(facts);
  return ended;
}

std::span<std::byte> PeerPartRef::landing(collective::Place from,
                                          const wire::Header& header) const {
  const PeerPart& own = state();
  const collective::Reduction& reduction = own.rounds.reduction();
  const bool wanted = header.kind == wire::Kind::kDown && operation() != nullptr &&
                      !known.elastic && from == reduction.node().parent && reduction.sent() &&
                      own.rounds.admit(0, wire::round_of(header)) == Verdict::kNow &&
                      header.whole_bytes() == own.sum.target().size();
  return wanted ? own.sum.target() : std::span<std::byte>();
}

Status PeerPartRef::check_bytes(const wire::Header& header, std::size_t payload_bytes) const {
  const bool absent = header.kind == wire::Kind::kUp && wire::ReduceFrame::of(header).absent;
  const std::size_t wanted = absent ? 0 : tensor.cut.bytes_of_part(part);
  const Dtype dtype = tensor.spec.dtype;
  if (payload_bytes == wanted && header.dtype == static_cast<std::uint8_t>(dtype)) return {};
  return {Code::kMalformed, fmt::format("a frame with {} bytes of dtype {} came, wanted {} bytes "
                                        "of {}",
                                        payload_bytes, header.dtype, wanted, name_of(dtype))};
}

Status PeerPartRef::blame(collective::Place from, const Status& why) const {
  return Status(why.code(),
                fmt::format("tensor '{}', part {}: {}", tensor.spec.name, part, why.cause()))
      .with_peer(fmt::format("worker {}", known.members.ranks[from]));
}

Status PeerPartRef::check_call(collective::Place from, const wire::ReduceFrame& up,
                               const OperationPtr& taking) const {
  if (taking == nullptr || up.is_value) return {};
  const Operation& own = *taking;
  const std::uint32_t root = own.broadcasts() ? own.root : 0;
  if (up.assigns == own.broadcasts() && (up.root == root || known.elastic)) return {};
  return {Code::kMismatch,
          fmt::format("worker {} calls {}, worker {} calls {}", known.members.ranks[from],
                      call_of(up.assigns, up.root), known.members.ranks[known.members.self],
                      call_of(own.broadcasts(), root))};
}

}  // namespace stretto
