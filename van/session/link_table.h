// SPDX-License-Identifier: Apache-2.0
// LinkTable: a Van's links, the state of each (opened, hello received, admitted, refused), and the
// session that each carries. The id of a session's first link identifies the session for its
// lifetime, whichever link carries it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "van/session/corruption_rate.h"
#include "van/session/pending_links.h"
#include "van/session/session.h"

namespace stretto {

/// Meaning of an admitted link's end.
enum class LinkKind : std::uint8_t {
  kBelongs,  ///< A break: the peer is expected to stay.
  kVisits,   ///< No break: the peer may leave at any time.
};

/// How long a detached session waits if the peer must reconnect.
enum class Return : std::uint8_t {
  kNone,  ///< Not at all: the session ends with its link.
  /// Ended link with all frames acknowledged: not at all, the peer has left. Ended with
  /// unacknowledged frames: `brief`, for a retransmission. Silent link: `patience`.
  kUnlessEnded,
  kBrief,  ///< ReconnectTimeouts::brief: no other source reports a peer's death.
  kFull    ///< ReconnectTimeouts::patience: another source reports it.
};

struct LinkState {
  Session session;
  LinkId carrier = 0;       ///< The transport's link; 0: waits for a reconnect.
  std::uint32_t links = 1;  ///< Links that carried it, attempts included.
  std::string address;      ///< If `ours`: the peer's listening address.
  std::string token;        ///< Of the hello that opened it.
  bool ours = false;        ///< This end connected.
  bool greeted = false;     ///< The handler knows it.
  bool admitted = false;
  bool visits = false;           ///< LinkKind::kVisits.
  bool closing = false;          ///< Refused: ends once its fault is sent.
  bool owing = false;            ///< Is among the delayed acks.
  bool gives_checksums = false;  ///< Outgoing frames have one.
  bool gets_checksums = false;   ///< The last incoming frame had one.
  CorruptionRate corruption;     ///< Of incoming frames.
  Return awaited = Return::kFull;
  /// When the peer last acknowledged further frames, or had none to acknowledge, and its
  /// acknowledged frames then.
  Time answered = {};
  std::uint64_t answers = 0;
};

/// Thread: loop. Pure.
class LinkTable {
 public:
  /// Null if unknown.
  LinkState* find(LinkId id) {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : &found->second;
  }
  const LinkState* find(LinkId id) const {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : &found->second;
  }
  /// Null: the link carries no session, or the session has moved to another link.
  struct Carried {
    LinkId id = 0;
    LinkState* link = nullptr;
  };
  Carried carried_by(LinkId carrier);
  /// Moves the session to that link; 0: to none.
  void carry(LinkId id, LinkId carrier);
  /// The session of this name; 0: none.
  LinkId named(std::uint64_t name) const;
  /// A link that this end opened counts as greeted once our hello is sent.
  void add(LinkId id, bool ours, Time now);
  void greet(LinkId id, LinkState& link);
  /// False if the link is unknown, or was admitted before.
  bool admit(LinkId id, NodeId peer, LinkKind stay);
  void refuse(LinkId id, LinkState& link, Time now);
  void remove(LinkId id);
  /// Calls `look(id, link)` for each.
  template <typename Look>
  void for_each(const Look& look) {
    for (auto& [id, link] : links_) look(id, link);
  }

  bool empty() const { return links_.empty(); }
  LinkId first() const { return links_.begin()->first; }
  /// A peer's name in messages: "worker 1". Without names: "node 4".
  using NameOf = std::function<std::string(NodeId)>;
  void set_names(NameOf name_of) { name_of_ = std::move(name_of); }
  std::string name_of(NodeId peer) const;
  PendingLinks& unsettled() { return unsettled_; }
  const PendingLinks& unsettled() const { return unsettled_; }

 private:
  std::map<LinkId, LinkState> links_;
  std::map<LinkId, LinkId> carriers_;  // Of reconnected sessions.
  PendingLinks unsettled_;
  NameOf name_of_;
};

struct FrameCounters;
/// Counts a corrupted frame of the link, and logs it if several came within a minute.
void note_corrupted(LinkState& link, const LinkTable& links, FrameCounters& counters, Time now);

}  // namespace stretto
