// SPDX-License-Identifier: Apache-2.0
// Sending and receiving of messages.
#include "van/fabric/engine.h"

#include <fmt/core.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "common/check.h"

namespace stretto::fabric {
namespace {

constexpr std::size_t kMostSendSlots = 1024;
constexpr std::size_t kSendSlotsAtOnce = 64;
constexpr std::size_t kCompletionsAtOnce = 32;
constexpr int kCollectsAtOnce = 8;
// The fetches that one link may have in flight. A round trip's worth keeps the wire busy; more
// would only take memory from other links.
constexpr std::size_t kMostFetches = 16;
constexpr std::size_t kMostFetchedBytes = 2 << 20;

Status provider_failed(std::string_view what, int error) {
  return failure(Code::kLinkBroken, what, error);
}

void count_stranger(const FabricOptions& options) {
  if (options.counts != nullptr) ++options.counts->strangers;
}

Status malformed(std::string_view what) {
  return {Code::kMalformed, fmt::format("the far end sent {}", what)};
}

Prefix prefix_for(const FabricLink& link, MessageKind kind) {
  Prefix prefix;
  prefix.kind = kind;
  prefix.link = link.far->link;
  prefix.secret = link.far->secret;
  prefix.taken = link.delivered;
  return prefix;
}

}  // namespace

Status Traffic::open(const std::string& host) {
  if (endpoint_ != nullptr) return {};
  Result<std::unique_ptr<FabricEndpoint>> opened = FabricEndpoint::open(options_.provider, host);
  if (!opened.ok()) return opened.status();
  endpoint_ = *std::move(opened);
  sends_ = std::make_unique<Slots>(ProviderOperation::Kind::kSend, kSlotBytes);
  frames_ = std::make_unique<Slots>(ProviderOperation::Kind::kFrame, kSlotBytes);
  notes_ = std::make_unique<Slots>(ProviderOperation::Kind::kNote, kPrefixBytes);
  return {};
}

void Traffic::shut() {
  if (endpoint_ == nullptr) return;
  endpoint_->shut();
  for (const auto& [id, link] : links_.all()) {
    link->address = FI_ADDR_UNSPEC;  // Dropped with all the others.
    link->arrivals.clear();          // Their slots are freed next.
    link->outbox = UnackedSends(options_.queue_frames);
  }
  fetches_.clear();
  sends_.reset();
  frames_.reset();
  notes_.reset();
  addresses_.clear();
  endpoint_.reset();
}

Status Traffic::meet(FabricLink& link) {
  if (link.far->provider != endpoint_->provider()) {
    return {Code::kLinkBroken,
            fmt::format("the far end uses libfabric's provider {}, and this one {}; choose the "
                        "same for all",
                        link.far->provider, endpoint_->provider())};
  }
  const Result<fi_addr_t> address = addresses_.join(*endpoint_, link.far->name);
  if (!address.ok()) return address.status();
  link.address = *address;
  link.outbox.limit(link.far->queue_frames);
  // There may be one note for each frame in flight from us, and an initial one.
  Status status = frames_->grow(*endpoint_, addresses_.links() * options_.queue_frames);
  if (status.ok()) {
    status = notes_->grow(*endpoint_, addresses_.links() * (options_.queue_frames + 1));
  }
  post();
  return status;
}

void Traffic::forget(FabricLink& link) {
  release_all(link);
  if (link.address == FI_ADDR_UNSPEC) return;
  link.address = FI_ADDR_UNSPEC;
  addresses_.leave(*endpoint_, link.far->name);
}

void Traffic::break_link(LinkId id, Status why) {
  FabricLink* link = links_.find(id);
  if (link == nullptr) return;
  link->end(std::move(why), now_);
  links_.touch(*link);
}

// ---- out

PooledMessage* Traffic::take_send_slot() {
  if (PooledMessage* slot = sends_->take()) return slot;
  const std::size_t most = std::min(kMostSendSlots, endpoint_->most_sends());
  if (!sends_->grow(*endpoint_, std::min(most, sends_->count() + kSendSlotsAtOnce)).ok()) {
    return nullptr;
  }
  return sends_->take();
}

void Traffic::submit(FabricLink& link) {
  if (link.retired || !link.may_speak() || !link.ending.ok()) return;
  Given given = Given::kTaken;
  while (Outgoing* frame = link.outbox.next()) {
    given = give_frame(link, *frame);
    if (given != Given::kTaken) break;
    link.outbox.handed();
    link.told = link.delivered;
    link.owes_note = false;
  }
  if (given == Given::kTaken && link.owes_note) {
    given = give_note(link, link.id);
    if (given == Given::kTaken) {
      link.told = link.delivered;
      link.owes_note = false;
    }
  }
  link.stuck = given == Given::kLater;
  if (link.stuck) links_.touch(link);
  if (given == Given::kFailed) {
    break_link(link.id, {Code::kLinkBroken, "the provider refuses to send to the far end"});
  }
}

Given Traffic::give_frame(FabricLink& link, Outgoing& frame) {
  const std::span<const std::byte> payload = frame.payload.bytes();
  const bool small = payload.size() <= kMaxInlineBytes;
  Prefix prefix = prefix_for(link, small ? MessageKind::kFrame : MessageKind::kAnnounce);
  prefix.sequence = link.outbox.next_sequence();
  prefix.bytes = payload.size();
  if (!small && frame.region == nullptr) {
    frame.region = endpoint_->expose(payload);
    if (frame.region == nullptr) return Given::kFailed;
  }
  if (!small) {
    prefix.key = fi_mr_key(frame.region.get());
    prefix.address = endpoint_->address_in(frame.region, payload);
  }
  PooledMessage* slot = take_send_slot();
  if (slot == nullptr) return Given::kLater;
  std::memcpy(slot->memory.data(), &prefix, kPrefixBytes);
  std::memcpy(&slot->memory[kPrefixBytes], frame.header.data(), frame.header.size());
  std::size_t bytes = kHeadBytes;
  if (small && !payload.empty()) {
    std::memcpy(&slot->memory[kHeadBytes], payload.data(), payload.size());
    bytes += payload.size();
    if (options_.counts != nullptr) options_.counts->copied_bytes += payload.size();
  }
  slot->link = link.id;
  const Given given =
      endpoint_->send(link.address, slot->memory.first(bytes), slot->descriptor, *slot);
  if (given != Given::kTaken) sends_->give(slot);
  return given;
}

// The send may fail; that is its purpose.
void Traffic::prod(FabricLink& link) {
  if (addresses_.links_to(link.far->name) > 1) (void)give_note(link, 0);
}

// 0: no link ends if it cannot be sent.
Given Traffic::give_note(FabricLink& link, LinkId ends_with_it) {
  PooledMessage* slot = take_send_slot();
  if (slot == nullptr) return Given::kLater;
  const Prefix prefix = prefix_for(link, MessageKind::kNote);
  std::memcpy(slot->memory.data(), &prefix, kPrefixBytes);
  slot->link = ends_with_it;
  const Given given =
      endpoint_->send_note(link.address, slot->memory.first(kPrefixBytes), slot->descriptor, *slot);
  if (given != Given::kTaken) sends_->give(slot);
  return given;
}

// ---- in

void Traffic::post() {
  while (PooledMessage* slot = frames_->take()) {
    if (endpoint_->receive(slot->memory, slot->descriptor, *slot) == Given::kTaken) continue;
    frames_->give(slot);  // The provider's queue is full.
    break;
  }
  while (PooledMessage* slot = notes_->take()) {
    if (endpoint_->receive_note(slot->memory, slot->descriptor, *slot) == Given::kTaken) continue;
    notes_->give(slot);
    break;
  }
}

void Traffic::release(PooledMessage* slot) {
  (slot->kind == ProviderOperation::Kind::kNote ? *notes_ : *frames_).give(slot);
}

void Traffic::release_all(FabricLink& link) {
  for (const Arrival& arrival : link.arrivals) release(arrival.slot);
  link.arrivals.clear();
}

// A provider queues early messages without a bound, and receives more whenever it makes progress,
// as it does without completions. So this posts receives after each read: queued messages are then
// completed first.
Traffic::Collected Traffic::collect(Time now) {
  Collected collected;
  if (endpoint_ == nullptr) return collected;
  now_ = now;
  post();
  std::array<ProviderCompletion, kCompletionsAtOnce> room;
  for (int i = 0; i < kCollectsAtOnce; ++i) {
    const std::span<ProviderCompletion> completions = endpoint_->collect(room);
    for (const ProviderCompletion& completion : completions) handle(completion);
    collected.more = !completions.empty();
    if (!collected.more) break;
    collected.any = true;
    post();
  }
  return collected;
}

void Traffic::handle(const ProviderCompletion& completion) {
  using Kind = ProviderOperation::Kind;
  ProviderOperation* operation = completion.operation;
  if (operation == nullptr) return;
  if (operation->kind == Kind::kRead) {
    return on_fetched(static_cast<Fetch*>(operation), completion.error);
  }
  auto* slot = static_cast<PooledMessage*>(operation);
  if (operation->kind == Kind::kSend) {
    sends_->give(slot);
    if (completion.error == 0) return;
    return break_link(slot->link, provider_failed("a message could not be sent", completion.error));
  }
  if (completion.error != 0) {  // Longer than our messages.
    count_stranger(options_);
    return release(slot);
  }
  on_message(slot, completion.bytes);
}

void Traffic::on_message(PooledMessage* slot, std::size_t bytes) {
  const std::optional<Prefix> prefix =
      decode_prefix(slot->memory.first(std::min(bytes, slot->memory.size())));
  FabricLink* link = prefix.has_value() ? links_.find(prefix->link) : nullptr;
  if (link == nullptr || !link->far.has_value() || link->secret != prefix->secret) {
    count_stranger(options_);
    return release(slot);
  }
  const bool is_note = slot->kind == ProviderOperation::Kind::kNote;
  if (is_note != (prefix->kind == MessageKind::kNote) ||
      !fits(*prefix, bytes, options_.max_payload_bytes)) {
    break_link(link->id, malformed("what is no frame"));
    return release(slot);
  }
  if (!link->outbox.taken(prefix->taken)) {
    break_link(link->id, malformed("a receipt for frames that it never got"));
    return release(slot);
  }
  if (!std::exchange(link->heard, true) && link->accepted) link->owes_note = true;
  links_.touch(*link);
  if (is_note || !file(*link, *prefix, slot)) release(slot);
}

bool Traffic::file(FabricLink& link, const Prefix& prefix, PooledMessage* slot) {
  if (link.retired || link.ending.code() == Code::kMalformed) return false;
  if (prefix.sequence != link.came + 1) {
    break_link(link.id, malformed("frames out of order"));
    return false;
  }
  if (link.came - link.told >= options_.queue_frames) {
    break_link(link.id, malformed("more frames than there was room for"));
    return false;
  }
  ++link.came;
  Arrival arrival{.slot = slot, .prefix = prefix, .state = Arrival::State::kHere, .payload = {}};
  if (prefix.kind == MessageKind::kAnnounce) arrival.state = Arrival::State::kAnnounced;
  link.arrivals.push_back(std::move(arrival));
  return true;
}

void Traffic::fetch(FabricLink& link) {
  link.fetch_stuck = false;
  if (!link.ending.ok()) return;
  for (std::size_t i = 0; i < link.arrivals.size() && link.fetches < kMostFetches; ++i) {
    Arrival& arrival = link.arrivals[i];
    if (arrival.state != Arrival::State::kAnnounced) continue;
    const std::size_t bytes = arrival.prefix.bytes;
    if (link.fetches > 0 && link.fetched_bytes + bytes > kMostFetchedBytes) return;
    begin_fetch(link, arrival);
    if (!link.ending.ok() || link.fetch_stuck) return;
  }
}

void Traffic::begin_fetch(FabricLink& link, Arrival& arrival) {
  const std::size_t bytes = arrival.prefix.bytes;
  if (arrival.payload.empty()) arrival.payload = Buffer::allocate(bytes);
  auto made = std::make_unique<Fetch>();
  made->link = link.id;
  made->sequence = arrival.prefix.sequence;
  made->payload = arrival.payload;
  const std::span<std::byte> into(const_cast<std::byte*>(made->payload.data()), bytes);
  Result<Region> region = endpoint_->lend(into);
  if (!region.ok()) return break_link(link.id, region.status());
  made->region = *std::move(region);
  void* descriptor = made->region == nullptr ? nullptr : fi_mr_desc(made->region.get());
  const Given given = endpoint_->read(link.address, into, descriptor, arrival.prefix.address,
                                      arrival.prefix.key, *made);
  if (given == Given::kFailed) {
    return break_link(link.id, {Code::kLinkBroken, "the provider refuses to fetch a payload"});
  }
  if (given == Given::kLater) {
    link.fetch_stuck = true;
    return links_.touch(link);
  }
  arrival.state = Arrival::State::kFetching;
  ++link.fetches;
  link.fetched_bytes += bytes;
  fetches_.emplace(made.get(), std::move(made));
}

void Traffic::on_fetched(Fetch* fetch, int error) {
  const std::unique_ptr<Fetch> done = std::move(fetches_.extract(fetch).mapped());
  FabricLink* link = links_.find(done->link);
  if (link == nullptr) return;
  STRETTO_CHECK(link->fetches > 0 && link->fetched_bytes >= done->payload.size());
  --link->fetches;
  link->fetched_bytes -= done->payload.size();
  ++link->fetched;
  links_.touch(*link);
  if (error != 0) {
    return break_link(link->id, provider_failed("a payload could not be fetched", error));
  }
  if (options_.counts != nullptr) options_.counts->read_bytes += done->payload.size();
  if (link->arrivals.empty()) return;  // Retired in the meantime.
  const std::uint64_t first = link->arrivals.front().prefix.sequence;
  link->arrivals[done->sequence - first].state = Arrival::State::kHere;
}

}  // namespace stretto::fabric
