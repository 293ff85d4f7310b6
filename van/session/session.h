// SPDX-License-Identifier: Apache-2.0
// Session: what two ends of a conversation know of one another: who it is, how many frames and
// pushes have gone each way, which pushes have yet to be acknowledged, what is owed. A link carries
// the bytes of a session.
//
// A session that has a name outlives its links: what leaves is kept until the far end says that it
// has come. Each end tells the other over a new link how many frames it has; what lies behind that
// is sent again, with the numbers that it had, and all goes on as if nothing had been lost.
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

  // What leaves.

  /// The numbers of a frame that is about to leave, and what it tells the far end. `control`: its
  /// acks are from when it was queued. `push_ends`: with it a push has left as a whole; they are
  /// applied in the order in which they end, so they are numbered so.
  void stamp(wire::Header& header, bool control, bool push_ends) const;
  /// It has been submitted.
  /// `round` of a push that ends with this slice.
  void note_sent(const wire::Header& header, const Buffer& payload, std::uint64_t round = 0);

  // What comes.

  /// kLinkBroken if frames were lost on the way.
  Status check_order(const wire::Header& header) const;
  /// kMalformed if pushes are acked, or frames have come, that were never sent; or if data is
  /// credited that has not come: what is kept then has no limit but the windows.
  Status check_told(const wire::Header& header) const;
  /// A frame has come and is in order. True if it credits anything new.
  bool note_received(const wire::Header& header);
  /// The next push of ours of those up to `acked`; none if all have been taken.
  std::optional<wire::PushTag> take_acked(std::uint64_t acked);

  // A new link.

  /// It outlives its links from now on. No other session of either end has this name.
  void outlive(std::uint64_t name) { name_ = name; }
  /// 0: it ends with its link.
  std::uint64_t name() const { return name_; }
  bool outlives() const { return name_ != 0; }
  std::uint64_t received() const { return received_; }
  /// The far end has so many of our frames, it says over a new link. kMalformed if that cannot be:
  /// they were never sent, or it has said before that it has more.
  Status take_over(std::uint64_t far_received);
  /// The frame that is to be sent again before any other may leave, told anew what there is to
  /// tell; null: none.
  const RetransmitBuffer::Kept* next_again();
  void sent_again(const wire::Header& header);
  /// The far end has all that it lacked when a link took the session over last.
  bool caught_up() const { return far_received_ >= awaited_; }
  /// Of our frames, as the far end told last.
  std::uint64_t far_received() const { return far_received_; }
  /// It has yet to tell of something that has been sent.
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
  std::uint64_t pushes_ = 0;                                     // and pushes that were sent.
  std::deque<std::pair<std::uint64_t, wire::PushTag>> unacked_;  // Oldest first.
  std::uint64_t heard_credit_ = 0;                               // That the far end told last.
  std::uint64_t far_received_ = 0;  // Of our frames, as the far end told last.
  std::uint64_t owing_sent_ = 0;    // The last of them that it has to tell of,
  std::uint64_t awaited_ = 0;       // and of those that were sent before this link.
  RetransmitBuffer kept_;
  AckState owed_;
  Reassembly assembly_;  // Of frames that come in slices.
  FrameTrace::Marks marks_;
};

}  // namespace stretto
