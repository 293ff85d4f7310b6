// SPDX-License-Identifier: Apache-2.0
// Mailbox: what waits for one inproc endpoint. Others put frames and news of links in; the endpoint
// takes them out when it polls. A link's frames are bounded, so a full one is the sender's to wait
// for.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/mutex.h"
#include "van/transport/transport.h"

namespace stretto::inproc {

class Mailbox;

/// The other end of a link: whose it is, and what they call it.
struct FarEnd {
  std::shared_ptr<Mailbox> mailbox;  ///< Null: there is none.
  LinkId link = 0;
};

struct Event {
  enum class Kind : std::uint8_t { kOpened, kFrame, kBroken, kWritable };
  Kind kind = Kind::kFrame;
  LinkId link = 0;
  FarEnd far = {};                ///< kOpened: who connected.
  wire::HeaderBytes header = {};  ///< kFrame.
  Buffer payload = {};            ///< kFrame.
  bool made_room = false;         ///< kFrame: the sender waits and may be told to go on.
  Status why = {};                ///< kBroken.
};

/// Thread: any.
class Mailbox {
 public:
  explicit Mailbox(std::size_t queue_frames) : queue_frames_(queue_frames) {}

  // The endpoint's side.

  /// A link of ours, not yet connected to anything.
  LinkId reserve() EXCLUDES(mutex_);
  /// At most `limit` events, waiting for a first one until `wait` has passed or wake().
  std::vector<Event> take(std::size_t limit, Duration wait) EXCLUDES(mutex_);
  /// The link is no more: what waits from it is dropped, and nothing is let in.
  void forget(LinkId link) EXCLUDES(mutex_);
  /// Nothing is let in any more. Returns what was waiting.
  std::deque<Event> shut() EXCLUDES(mutex_);

  // Everybody's side.

  /// Somebody connects. The link's name here, or 0 if this endpoint is gone.
  LinkId open(FarEnd far) EXCLUDES(mutex_);
  Transport::Sent push(LinkId link, const wire::Header& header, const Buffer& payload)
      EXCLUDES(mutex_);
  /// The far end has closed the link.
  void broke(LinkId link, Status why) EXCLUDES(mutex_);
  /// The far end has room again.
  void writable(LinkId link) EXCLUDES(mutex_);
  void wake() EXCLUDES(mutex_);

 private:
  /// A link that frames are let in from.
  struct Line {
    std::size_t queued = 0;
    bool sender_waits = false;
    bool room_told = false;  // A kWritable of this link is waiting.
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
