// SPDX-License-Identifier: Apache-2.0
// LinkManager: lifetimes of a Van's links. Links are opened here or by peers, are admitted or
// refused, and end: closed here, refused, broken, or lost without a reconnect in time. When a link
// ends, all parts forget it together. The handler gets one event for each end that it did not
// cause, if it knew the link.
#pragma once

#include <string_view>

#include "van/engine/reconnector.h"

namespace stretto {

/// Thread: loop.
class LinkManager {
 public:
  /// The sender and the mender share these parts.
  LinkManager(const Sender::Parts& parts, Sender& sender, Reconnector& mender)
      : parts_(parts), sender_(sender), mender_(mender) {}

  /// Display names of peers; an empty name: the node id is shown. The function must outlive the Van
  /// or be replaced before it ends.
  void set_names(LinkTable::NameOf name_of) { parts_.links.set_names(std::move(name_of)); }

  /// Connects and says hello.
  Result<LinkId> connect(std::string_view address, const control::Hello& hello);
  /// Admits the link for all frames; every frame from it must carry the id `peer`.
  void admit(LinkId id, NodeId peer, LinkKind stay = LinkKind::kBelongs);
  /// Ends a link without an event for the handler.
  void close(LinkId link);
  void close_all();
  /// Sends a last fault on a link and ends it soon after. If the link was admitted, the handler
  /// then gets on_broken.
  void refuse(LinkId link, const Status& why);
  /// How long the session waits for a reconnect once its link has ended; kFull by default.
  void await(LinkId link, Return what);
  /// Reconnector::take_news.
  std::map<NodeId, bool> take_news() { return mender_.take_news(); }
  /// Padding of a Welcome over this link, in bytes: kPathProofBytes, or 0 without a network in
  /// between, as with shared memory.
  std::size_t path_proof(LinkId link) const;
  /// Admitted, and not refused since.
  bool is_open(LinkId link) const;
  /// True if the peer has acknowledged all frames, or the link is unknown. If the peer acknowledges
  /// no frames: all have left.
  bool has_heard_all(LinkId link) const;

  // ---- for Van::step()

  /// A peer opened a link. It is closed if too many links are pending.
  void accept(LinkId carrier);
  /// The transport's link has broken.
  void carrier_broke(LinkId carrier, const Status& why, FrameHandler& handler);
  /// A link is unusable: its session is detached for a reconnect, or ends.
  void lose(LinkId id, LinkState& link, const Status& why, FrameHandler& handler);
  /// A session ends. Unknown ones are ignored.
  void drop(LinkId id, const Status& why, FrameHandler& handler);
  /// Ends the pending and refused links that have timed out.
  void expire(FrameHandler& handler);
  /// Ends the sessions that have timed out, and opens the links that are due.
  void mend(FrameHandler& handler);

 private:
  void add(LinkId id, bool ours);
  void forget(LinkId id);

  Sender::Parts parts_;
  Sender& sender_;
  Reconnector& mender_;
};

}  // namespace stretto
