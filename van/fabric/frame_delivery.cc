// SPDX-License-Identifier: Apache-2.0
// Delivers the first arrivals of links, with their received or fetched payloads.
#include "van/fabric/frame_delivery.h"

#include <utility>

namespace stretto::fabric {
namespace {

constexpr int kFramesPerTurn = 16;

}  // namespace

bool FrameDelivery::turn(Transport::Sink& sink, FabricLink& link, int& frames_left) {
  bool called = false;
  traffic_.fetch(link);
  for (int i = 0; i < kFramesPerTurn && frames_left > 0 && link.deliverable(); ++i) {
    --frames_left;
    called = true;
    deliver_head(sink, link);
  }
  if (link.retired) return called;
  traffic_.fetch(link);
  traffic_.submit(link);
  if (link.told_full && link.outbox.half_empty() && link.ending.ok()) {
    link.told_full = false;
    called = true;
    sink.on_writable(link.id);
  }
  return called;
}

void FrameDelivery::deliver_head(Transport::Sink& sink, FabricLink& link) {
  Arrival arrival = std::move(link.arrivals.front());
  link.arrivals.pop_front();
  ++link.delivered;
  // A note ends the sender's lease on a large payload; for small ones it only frees room.
  const bool large = arrival.prefix.kind == MessageKind::kAnnounce;
  if (large || link.delivered - link.told >= options_.queue_frames / 4) link.owes_note = true;
  const wire::HeaderView header(&arrival.slot->memory[kPrefixBytes], wire::kHeaderBytes);
  Buffer payload = payload_of(arrival);
  sink.on_frame(link.id, header, std::move(payload));
  traffic_.release(arrival.slot);
}

Buffer FrameDelivery::payload_of(Arrival& arrival) {
  if (arrival.prefix.kind == MessageKind::kAnnounce) return std::move(arrival.payload);
  const std::size_t bytes = arrival.prefix.bytes;
  if (bytes == 0) return {};
  if (options_.counts != nullptr) options_.counts->copied_bytes += bytes;
  const std::span<const std::byte> from = arrival.slot->memory.subspan(kHeadBytes, bytes);
  return Buffer::copy_of(from);
}

}  // namespace stretto::fabric
