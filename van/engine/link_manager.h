// SPDX-License-Identifier: Apache-2.0
// LinkManager: the lives of a Van's links. They are made here or come from elsewhere, are admitted
// or refused, and end: closed here, refused, broken, or lost when no new link takes the session
// over in time. Whatever ends one, all parts forget it together, and the handler hears of an end
// that it did not bring about, once, if it knew of the link.
#pragma once

#include <string_view>

#include "van/engine/reconnector.h"

namespace stretto {

/// Thread: loop.
class LinkManager {
 public:
  /// The sender and the mender work on the same parts.
  LinkManager(const Sender::Parts& parts, Sender& sender, Reconnector& mender)
      : parts_(parts), sender_(sender), mender_(mender) {}

  /// What messages call peers; an empty name: by their identities. The function outlives the Van,
  /// or is replaced before it ends.
  void set_names(LinkLives::NameOf name_of) { parts_.links.set_names(std::move(name_of)); }

  /// Connects and says hello.
  Result<LinkId> connect(std::string_view address, const control::Hello& hello);
  /// From now on the link may carry everything, and everything from it must say that it is `peer`.
  void admit(LinkId id, NodeId peer, LinkKind stay = LinkKind::kBelongs);
  /// Ends a link; the handler hears no more of it.
  void close(LinkId link);
  void close_all();
  /// Sends a last fault on a link, and ends it soon after. If the link was admitted the handler
  /// then hears that it has ended.
  void refuse(LinkId link, const Status& why);
  /// What a session hopes for whose link has ended; kFull until it is told otherwise.
  void await(LinkId link, Return what);
  /// Reconnector::take_news.
  std::map<NodeId, bool> take_news() { return mender_.take_news(); }
  /// Padding of a Welcome over this link, in bytes: kPathProofBytes, or 0 where no network lies
  /// between, as with shared memory.
  std::size_t path_proof(LinkId link) const;
  /// Admitted, and not refused since.
  bool is_open(LinkId link) const;
  /// The far end is known to have all that was said to it, or there is no such link any more. Of a
  /// link whose far end does not tell: all has left.
  bool has_heard_all(LinkId link) const;

  // ---- for the Van's turn

  /// Somebody has made a link to us. It is closed if too many are not admitted yet.
  void accept(LinkId carrier);
  /// The transport's link has broken.
  void carrier_broke(LinkId carrier, const Status& why, FrameHandler& handler);
  /// A link is of no use any more: another one is made for its session, or that ends.
  void lose(LinkId id, LinkState& link, const Status& why, FrameHandler& handler);
  /// A session ends. Unknown ones are ignored.
  void drop(LinkId id, const Status& why, FrameHandler& handler);
  /// Ends the links that have stayed as they may not for long enough.
  void expire(FrameHandler& handler);
  /// Ends the sessions that have waited long enough, and makes the links that are due.
  void mend(FrameHandler& handler);

 private:
  void add(LinkId id, bool ours);
  void forget(LinkId id);

  Sender::Parts parts_;
  Sender& sender_;
  Reconnector& mender_;
};

}  // namespace stretto
