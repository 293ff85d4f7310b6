// SPDX-License-Identifier: Apache-2.0
// Session: the shared state of two peers: identity, frames and pushes in each direction,
// unacknowledged pushes, and pending acks. A link carries the bytes of a session.
//
// A session with a name outlives its links: sent frames are kept until the peer has acknowledged
// them. Over a new link each end reports the frames that it has received. Later frames are
// retransmitted with their old numbers, and no frame is lost.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "stretto/status.h"
#include "van/session/ack_state.h"
#include "van/session/frame_trace.h"
#include "van/session/reassembly.h"
#include "van/session/retransmit_buffer.h"

namespace stretto {

/// Thread: loop. Pure.
class Session {
 public:
  NodeId peer() const { return peer_; }
  void set_peer(NodeId peer) { peer_ = peer; }

  // Outgoing frames.

  /// Sets the numbers and acks of a frame that is about to leave. `control`: its acks are those of
  /// the time it was queued. `push_ends`: its last slice completes a push; pushes are applied, and
  /// therefore numbered, in the order of completion.
  void stamp(wire::Header& header, bool control, bool push_ends) const;
  /// The frame was submitted.
  /// `round` of a push that ends with this slice.
  void note_sent(const wire::Header& header, const Buffer& payload, std::uint64_t round = 0);

  // Incoming frames.

  /// kLinkBroken if frames were lost on the way.
  Status check_order(const wire::Header& header) const;
  /// kMalformed if the peer acknowledges pushes or frames that were never sent, or credits data
  /// that it has not received: otherwise kept frames would be limited only by the windows.
  Status check_told(const wire::Header& header) const;
  /// A frame arrived in order. True if it credits new bytes.
  bool note_received(const wire::Header& header);
  /// The next unacknowledged push up to `acked`; none if there is none.
  std::optional<wire::PushTag> take_acked(std::uint64_t acked);

  // Reconnects.

  /// The session outlives its links from now on. No other session of either end has this name.
  void outlive(std::uint64_t name) { name_ = name; }
  /// 0: it ends with its link.
  std::uint64_t name() const { return name_; }
  bool outlives() const { return name_ != 0; }
  std::uint64_t received() const { return received_; }
  /// The peer reports its received frames over a new link. kMalformed if impossible: they were
  /// never sent, or it has reported more before.
  Status take_over(std::uint64_t far_received);
  /// The next frame to retransmit before any other frame, with current acks; null: none.
  const RetransmitBuffer::Kept* next_again();
  void sent_again(const wire::Header& header);
  /// The peer has received all frames that it lacked at the last reconnect.
  bool caught_up() const { return far_received_ >= awaited_; }
  /// Our frames that the peer has acknowledged.
  std::uint64_t far_received() const { return far_received_; }
  /// True if the peer has yet to acknowledge a sent frame.
  bool awaits_word() const { return far_received_ < owing_sent_; }

  AckState& owed() { return owed_; }
  Reassembly& assembly() { return assembly_; }
  FrameTrace::Marks& marks() { return marks_; }

 private:
  void give_name_up();

  NodeId peer_ = 0;
  std::uint64_t name_ = 0;
  std::uint64_t sent_ = 0;  // Frames,
  std::uint64_t received_ = 0;
  std::uint64_t pushes_ = 0;                                     // and sent pushes.
  std::deque<std::pair<std::uint64_t, wire::PushTag>> unacked_;  // Oldest first.
  std::uint64_t heard_credit_ = 0;                               // The last credit from the peer.
  std::uint64_t far_received_ = 0;  // Our frames that the peer has acknowledged.
  std::uint64_t owing_sent_ = 0;    // The last frame that needs an ack,
  std::uint64_t awaited_ = 0;       // and the last one before this link.
  RetransmitBuffer kept_;
  AckState owed_;
  Reassembly assembly_;  // Of sliced frames.
  FrameTrace::Marks marks_;
};

}  // namespace stretto
