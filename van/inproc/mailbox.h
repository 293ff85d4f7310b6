// SPDX-License-Identifier: Apache-2.0
// Mailbox: the events that wait for one inproc endpoint. Peers put frames and link events in; the
// endpoint takes them out when it polls. Frames of a link are bounded: if its queue is full, the
// sender waits.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/mutex.h"
#include "van/transport/transport.h"

namespace stretto::inproc {

class Mailbox;

/// The other end of a link: its mailbox, and its id of the link.
struct FarEnd {
  std::shared_ptr<Mailbox> mailbox;  ///< Null: there is no peer.
  LinkId link = 0;
};

struct Event {
  enum class Kind : std::uint8_t { kOpened, kFrame, kBroken, kWritable };
  Kind kind = Kind::kFrame;
  LinkId link = 0;
  FarEnd far = {};                ///< kOpened: the connecting end.
  wire::HeaderBytes header = {};  ///< kFrame.
  Buffer payload = {};            ///< kFrame.
  bool made_room = false;         ///< kFrame: the sender waits and may continue.
  Status why = {};                ///< kBroken.
};

/// Thread: any.
class Mailbox {
 public:
  explicit Mailbox(std::size_t queue_frames) : queue_frames_(queue_frames) {}

  // Called by the endpoint.

  /// A new link of ours, not yet connected.
  LinkId reserve() EXCLUDES(mutex_);
  /// At most `limit` events; waits for the first one until `wait` has passed or wake().
  std::vector<Event> take(std::size_t limit, Duration wait) EXCLUDES(mutex_);
  /// Removes a link: its waiting events are dropped, and later ones are refused.
  void forget(LinkId link) EXCLUDES(mutex_);
  /// Refuses all later events. Returns the waiting ones.
  std::deque<Event> shut() EXCLUDES(mutex_);

  // Called by any endpoint.

  /// A peer connects. Returns the link's id here, or 0 if this endpoint is closed.
  LinkId open(FarEnd far) EXCLUDES(mutex_);
  Transport::Sent push(LinkId link, const wire::Header& header, const Buffer& payload)
      EXCLUDES(mutex_);
  /// The peer has closed the link.
  void broke(LinkId link, Status why) EXCLUDES(mutex_);
  /// The peer has room again.
  void writable(LinkId link) EXCLUDES(mutex_);
  void wake() EXCLUDES(mutex_);

 private:
  /// A link that may put in frames.
  struct Line {
    std::size_t queued = 0;
    bool sender_waits = false;
    bool room_told = false;  // A kWritable event of this link is waiting.
  };

  void note_taken(Event& event) REQUIRES(mutex_);

  const std::size_t queue_frames_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Event> events_ GUARDED_BY(mutex_);
  std::unordered_map<LinkId, Line> lines_ GUARDED_BY(mutex_);
  LinkId last_link_ GUARDED_BY(mutex_) = 0;
  bool woken_ GUARDED_BY(mutex_) = false;
  bool shut_ GUARDED_BY(mutex_) = false;
};

}  // namespace stretto::inproc
