// SPDX-License-Identifier: Apache-2.0
// What the transport knows of a link.
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

/// A frame that has come, or whose payload is still with the sender.
struct Arrival {
  enum class State { kHere, kAnnounced, kFetching };
  PooledMessage* slot = nullptr;  // Has the header, and a small payload.
  Prefix prefix;
  State state = State::kHere;
  Buffer payload;  // A large one.
};

/// A payload being fetched. Owns the memory until the provider no longer writes to it.
struct Fetch : ProviderOperation {
  Fetch() : ProviderOperation(Kind::kRead) {}
  LinkId link = 0;
  std::uint64_t sequence = 0;
  Buffer payload;
  Region region;  // Ends before the payload does.
};

// For how long what a dead peer sent may still be on its way to us, and for how long a far end may
// take to say that it reads nothing more of ours.
inline constexpr Duration kGrace = 1s;
// Turns in which the provider has nothing from anybody until nothing more is expected of a peer.
inline constexpr int kQuietTurns = 3;

/// Thread: loop.
struct FabricLink {
  FabricLink(LinkId number, ConnectionId tcp, std::size_t queue_frames)
      : id(number), line(tcp), outbox(queue_frames) {}

  LinkId id;
  ConnectionId line;
  bool accepted = false;
  bool local = false;
  std::uint64_t secret = 0;             // What messages to us must say.
  std::optional<BootstrapMessage> far;  // Who the far end is, once it has said so.
  fi_addr_t address = FI_ADDR_UNSPEC;
  bool heard = false;  // Something has come over the fabric: then we may speak, too.

  UnackedSends outbox;
  bool told_full = false;    // try_send answered so, and has not been taken back.
  bool stuck = false;        // The provider took no more messages,
  bool fetch_stuck = false;  // or no more fetches.
  bool owes_note = false;

  std::deque<Arrival> arrivals;
  std::uint64_t came = 0;       // Frames,
  std::uint64_t delivered = 0;  // of which the sink has had so many,
  std::uint64_t told = 0;       // and the far end knows it of so many.
  std::size_t fetches = 0;      // In flight.
  std::size_t fetched_bytes = 0;
  std::uint64_t fetched = 0;  // Payloads, in all.
  DeliveryProbe delivery;

  Status ending;  // Why it is over, as soon as what has come is delivered.
  Time deadline;  // Of the ending, then of the retirement.
  int quiet = 0;  // Turns since the line ended in which nothing came from anybody.
  bool line_ended = false;
  bool retired = false;   // Over; waits until nobody reads anybody's memory.
  bool finished = false;  // The far end has been told that we read nothing more.
  bool busy = false;      // In the list of those that need attention.

  /// Connected, and nothing has been exchanged over the fabric yet.
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
  /// What has come has been delivered, nothing is being fetched, and nothing more is on its way
  /// from the provider: what a peer sent just before its end may reach us after the news of that.
  /// Asked once a turn; `nothing_came`: in this one nothing has come over the fabric.
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
