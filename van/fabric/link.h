// SPDX-License-Identifier: Apache-2.0
// The state of a link: received frames, sends, fetches, and how it ends.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "van/fabric/bootstrap.h"
#include "van/fabric/delivery_probe.h"
#include "van/fabric/message.h"
#include "van/fabric/message_pool.h"
#include "van/fabric/unacked_sends.h"
#include "van/transport/transport.h"

namespace stretto::fabric {

/// A received frame; its payload may still be with the sender.
struct Arrival {
  enum class State { kHere, kAnnounced, kFetching };
  PooledMessage* slot = nullptr;  // Has the header, and a small payload.
  Prefix prefix;
  State state = State::kHere;
  Buffer payload;  // A large payload.
};

/// A payload being fetched. Owns the memory until the provider no longer writes to it.
struct Fetch : ProviderOperation {
  Fetch() : ProviderOperation(Kind::kRead) {}
  LinkId link = 0;
  std::uint64_t sequence = 0;
  Buffer payload;
  Region region;  // Ends before the payload does.
};

// Data of a dead peer may be in transit for this long. A peer may also take this long to report
// that it no longer reads our memory.
inline constexpr Duration kGrace = 1s;
// Turns without any completion of the provider, after which a peer sends nothing more.
inline constexpr int kQuietTurns = 3;

/// Thread: loop.
struct FabricLink {
  FabricLink(LinkId number, ConnectionId tcp, std::size_t queue_frames)
      : id(number), line(tcp), outbox(queue_frames) {}

  LinkId id;
  ConnectionId line;
  bool accepted = false;
  bool local = false;
  std::uint64_t secret = 0;             // Messages to us must carry it.
  std::optional<BootstrapMessage> far;  // The peer's introduction, once received.
  fi_addr_t address = FI_ADDR_UNSPEC;
  bool heard = false;  // The fabric delivered something: then we may send, too.

  UnackedSends outbox;
  bool told_full = false;    // try_send returned kFull, and on_writable has not followed.
  bool stuck = false;        // The provider refused messages,
  bool fetch_stuck = false;  // or fetches.
  bool owes_note = false;

  std::deque<Arrival> arrivals;
  std::uint64_t came = 0;       // Frames received,
  std::uint64_t delivered = 0;  // frames delivered to the sink,
  std::uint64_t told = 0;       // and delivered frames reported to the peer.
  std::size_t fetches = 0;      // In flight.
  std::size_t fetched_bytes = 0;
  std::uint64_t fetched = 0;  // Payloads, in total.
  DeliveryProbe delivery;

  Status ending;  // Why the link ends, after its received frames are delivered.
  Time deadline;  // Of the ending, then of the retirement.
  int quiet = 0;  // Turns since the line ended in which the fabric delivered nothing.
  bool line_ended = false;
  bool retired = false;   // Over; waits until neither end reads the other's memory.
  bool finished = false;  // The peer knows that we no longer read its memory.
  bool busy = false;      // It has a queued turn.

  /// Connected, but the fabric has delivered nothing yet.
  bool young() const { return far.has_value() && !heard && !retired; }
  bool may_speak() const { return far.has_value() && (heard || !accepted); }
  bool deliverable() const {
    return !retired && !arrivals.empty() && arrivals.front().state == Arrival::State::kHere;
  }
  DeliveryProbe::Counts counts() const {
    return {.handed = outbox.handed_in_all(),
            .taken = outbox.taken_in_all(),
            .fetched = fetched,
            .fetching = fetches};
  }
  bool needs_attention() const {
    return deliverable() || stuck || fetch_stuck || young() || retired || !ending.ok();
  }
  /// True once received frames are delivered, no fetch is in flight, and the provider holds
  /// nothing: the last frames of a peer may arrive after the event of its end. Must be called once
  /// a turn; `nothing_came`: the fabric delivered nothing in this turn.
  bool is_over(Time now, bool nothing_came) {
    if (deliverable()) return false;
    if (!far.has_value() || now > deadline + kGrace) return true;
    if (fetches > 0) return false;
    if (!line_ended) return true;
    quiet = nothing_came ? quiet + 1 : 0;
    return quiet >= kQuietTurns || now > deadline;
  }
  void end(Status why, Time when) {
    if (!ending.ok()) return;
    ending = std::move(why);
    deadline = when;
  }
};

}  // namespace stretto::fabric
