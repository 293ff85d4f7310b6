// SPDX-License-Identifier: Apache-2.0
// LinkLives: a Van's links, how far each has come (it came, said hello, was admitted or refused),
// and the session that each carries. A session goes by the id of its first link, for as long as it
// lasts, whatever link carries it now.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "van/session/corruption_rate.h"
#include "van/session/pending_links.h"
#include "van/session/session.h"

namespace stretto {

/// What the end of an admitted link is.
enum class LinkKind : std::uint8_t {
  kBelongs,  ///< A break: the far end is meant to be there.
  kVisits,   ///< No break: the far end comes and goes as it likes.
};

/// How long a session whose link has ended, and that its far end would have to make anew, waits.
enum class Return : std::uint8_t {
  kNone,  ///< Not at all: it ends with its link.
  /// Not at all if it ends once the far end has all that was said to it, as who goes ends it;
  /// briefly if it ends before, as that is to be said again; with patience if it falls silent.
  kUnlessEnded,
  kBrief,  ///< ReconnectTimeouts::brief: nobody else tells that the far end's process has gone.
  kFull    ///< ReconnectTimeouts::patience: somebody does.
};

struct LinkState {
  Session session;
  LinkId carrier = 0;       ///< The transport's link; 0: the session waits for a new one.
  std::uint32_t links = 1;  ///< So many have carried it, or were to.
  std::string address;      ///< Ours: where the far end listens.
  std::string token;        ///< Of the hello that opened it.
  bool ours = false;        ///< We connected.
  bool greeted = false;     ///< The handler knows of it.
  bool admitted = false;
  bool visits = false;           ///< Its end is nobody's loss.
  bool closing = false;          ///< Refused: ends when its fault has left.
  bool owing = false;            ///< Is among the debts.
  bool gives_checksums = false;  ///< What leaves has one.
  bool gets_checksums = false;   ///< What comes has one: it had when the last frame came.
  CorruptionRate corruption;     ///< Of what comes.
  Return awaited = Return::kFull;
  /// The far end has told of more of our frames, or there were none to tell of, at that moment or
  /// since; and of so many.
  Time answered = {};
  std::uint64_t answers = 0;
};

/// Thread: loop. Pure.
class LinkLives {
 public:
  /// Null if there is none.
  LinkState* find(LinkId id) {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : &found->second;
  }
  const LinkState* find(LinkId id) const {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : &found->second;
  }
  /// None: it carries no session, or one that has another link by now.
  struct Carried {
    LinkId id = 0;
    LinkState* link = nullptr;
  };
  Carried carried_by(LinkId carrier);
  /// From now on the session is carried by that link; 0: by none.
  void carry(LinkId id, LinkId carrier);
  /// The session that has this name; 0: none.
  LinkId named(std::uint64_t name) const;
  /// One of ours has been greeted by our hello.
  void add(LinkId id, bool ours, Time now);
  void greet(LinkId id, LinkState& link);
  /// False if it is not there, or has been admitted before.
  bool admit(LinkId id, NodeId peer, LinkKind stay);
  void refuse(LinkId id, LinkState& link, Time now);
  void remove(LinkId id);
  /// Calls `look(id, link)` of each.
  template <typename Look>
  void for_each(const Look& look) {
    for (auto& [id, link] : links_) look(id, link);
  }

  bool empty() const { return links_.empty(); }
  LinkId first() const { return links_.begin()->first; }
  /// What messages call a peer: "worker 1". Without names: "node 4".
  using NameOf = std::function<std::string(NodeId)>;
  void set_names(NameOf name_of) { name_of_ = std::move(name_of); }
  std::string name_of(NodeId peer) const;
  PendingLinks& unsettled() { return unsettled_; }
  const PendingLinks& unsettled() const { return unsettled_; }

 private:
  std::map<LinkId, LinkState> links_;
  std::map<LinkId, LinkId> carriers_;  // Of sessions that have outlived their first link.
  PendingLinks unsettled_;
  NameOf name_of_;
};

struct FrameCounters;
/// A frame of the link came corrupted: counted, and logged if several came within a minute.
void note_corrupted(LinkState& link, const LinkLives& links, FrameCounters& counters, Time now);

}  // namespace stretto
