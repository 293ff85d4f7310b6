// SPDX-License-Identifier: Apache-2.0
// Replication: a shard's role in its replica set. A primary sends its state to the standby, which
// must have an update before workers are told, and holds later messages for the part meanwhile. A
// standby receives that state, and serves no worker until the roster promotes it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "server/replication/ack_order.h"
#include "server/replication/replica_receiver.h"
#include "server/replication/replica_sender.h"

namespace stretto {

/// Thread: loop.
class Replication {
 public:
  /// Handles a worker's frame.
  using Dispatch = std::function<void(LinkId, WorkerLinks::Worker, const wire::Header&, Buffer)>;
  /// Callbacks into the shard.
  struct Ways {
    std::function<void(Part&)> settled;   ///< A part has no update in transit any more.
    std::function<void(Part&)> announce;  ///< Its waiters may be answered now.
    Dispatch dispatch;
    std::function<void(LinkId, const control::StateRequest&)>
        request;  ///< Handles a state request that waited.
    /// True if this server has the part's complete state; null: of every part.
    std::function<bool(const Part&)> knows = nullptr;
  };

  /// All arguments must outlive this.
  Replication(const Config& config, Van& van, const WorkerLinks& workers, OwnedSlots& slots,
              Ways ways);

  struct Followed {
    bool promoted = false;             ///< It was a standby, and is the primary now.
    Status called = {};                ///< Error of the standby's link: one of both has failed.
    std::set<wire::Key> lacking = {};  ///< Parts with an incomplete image.
  };
  /// Follows a roster, in which this shard is member `self`. `introduce`: makes this server's
  /// hello, for a connection to a standby.
  Followed follow(const Roster& roster, NodeId self,
                  const std::function<control::Hello()>& introduce, Time now);
  /// False: it is a standby.
  bool serves() const { return serves_; }
  /// This server has a standby, in sync or not.
  bool replicates() const { return sender_.standby() != nullptr; }
  const Member* other() const { return sender_.standby(); }

  /// Handles a server's hello.
  void greet(LinkId link, const control::Hello& hello);
  /// A link of the replica set: its messages belong here, and lose() names its member.
  bool is_other(LinkId link) const {
    return link != 0 && (link == sender_.link() || link == receiver_.link());
  }
  void on_control(LinkId link, const control::Message& message);
  void on_data(LinkId link, const wire::Header& header, const Buffer& payload);
  void on_acked(LinkId link, const wire::Key& key) {
    if (link == sender_.link()) sender_.on_acked(key);
  }
  /// A link has ended: returns its member if it belonged to the replica set.
  std::optional<Member> lose(LinkId link);

  void opened(const control::Open& open) { sender_.opened(open); }
  /// A worker's frame. True if it waits, and is dispatched later.
  bool takes(LinkId link, WorkerLinks::Worker worker, const wire::Header& header,
             const Buffer& payload);
  /// Call before a contribution to this part counts.
  void meet(const OwnedSlots::Place& place) { sender_.meet(place); }
  /// A change of a part other than by an update. True if it waits, and is requested later.
  bool takes(const Part& part, LinkId link, const control::StateRequest& request);
  /// It was made. The answer is sent once the standby has the part's new state.
  void changed(const OwnedSlots::Place& place, LinkId link, const control::StatePiece& answer);
  /// A complete update: released at once, or once the standby has it.
  void append(const OwnedSlots::Place& place, Update update, std::int32_t priority) {
    sender_.append(place, std::move(update), priority);
  }
  /// A round ended without an update: released in the same way.
  void made_nothing(const OwnedSlots::Place& place) { sender_.hold(place); }
  /// The push has counted: acknowledge it once the update that it completed is released.
  void ack(const Part& part, LinkId link, std::uint64_t sequence, bool at_once);
  /// A push has been handled. One that has not counted, and gets no acknowledgment, delays no
  /// other.
  void handled(LinkId link, const wire::Header& header);
  /// Call once per iteration. Returns a report for the scheduler at this link; 0: away. Primary and
  /// standby send it once per link, as a restarted scheduler may not know it.
  std::optional<control::StandbyReady> step(LinkId scheduler);

 private:
  struct Frame {
    LinkId link = 0;
    NodeId worker = 0;
    wire::Header header;
    Buffer payload;
  };
  struct Ack {
    LinkId link = 0;
    std::uint64_t sequence = 0;
    bool at_once = false;
  };
  struct Caller {
    LinkId link = 0;
    NodeId node = 0;
    Time since = Time::max();  // Since when it waits for workers to connect.
  };

  struct Request {
    LinkId link = 0;
    control::StateRequest what;
  };
  struct Answer {
    LinkId link = 0;
    control::StatePiece what;
  };

  void released(Part& part);
  void tell(Part& part);
  void go_on(Part& part);
  void answer_callers(const Roster& roster, const Member& self, Time now);

  const Config& config_;
  Van& van_;
  const WorkerLinks& workers_;
  OwnedSlots& slots_;
  const Ways ways_;
  ReplicaSender sender_;
  ReplicaReceiver receiver_;
  AckOrder acks_;
  bool serves_ = true;
  std::uint32_t followed_ = 0;  // Epoch.
  NodeId self_ = 0;
  LinkId told_at_ = 0;               // Link of the scheduler that knows of the sync.
  std::optional<Member> served_by_;  // The primary of this standby.
  std::vector<Caller> callers_;      // Servers whose hellos wait for a roster.
  std::map<wire::Key, std::deque<Frame>> held_;
  std::map<wire::Key, Ack> owed_;  // For parts that are not settled.
  std::map<wire::Key, std::deque<Request>> requests_;
  std::map<wire::Key, Answer> answers_;
  std::set<wire::Key> going_on_;  // Parts whose frames are being dispatched.
};

}  // namespace stretto
