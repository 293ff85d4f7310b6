// SPDX-License-Identifier: Apache-2.0
// Replication: a shard's side of being one of two with all that a place's slots hold. Who serves
// sends what it has to who stands by, tells nobody of an update before that one has it, and lets
// what comes meanwhile for the same part wait. Who stands by takes it, and serves nobody until the
// roster says so.
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
  /// What a shard does with the frame of a worker.
  using Dispatch = std::function<void(LinkId, WorkerLinks::Worker, const wire::Header&, Buffer)>;
  /// What is asked of the shard.
  struct Ways {
    std::function<void(Part&)> settled;   ///< A part has no update on its way any more.
    std::function<void(Part&)> announce;  ///< Who waits for it may be told now.
    Dispatch dispatch;
    std::function<void(LinkId, const control::StateRequest&)>
        request;  ///< The same of one of these.
    /// All of a part is here that was in its place before; null: of every part.
    std::function<bool(const Part&)> knows = nullptr;
  };

  /// All outlive this.
  Replication(const Config& config, Van& van, const WorkerLinks& workers, OwnedSlots& slots,
              Ways ways);

  struct Followed {
    bool promoted = false;  ///< It serves from now on, and has stood by until now.
    Status called = {};     ///< Why the other cannot be called: then that is lost, or this one.
    std::set<wire::Key> lacking = {};  ///< Parts that had not come as a whole.
  };
  /// What a roster says of this shard, which is member `self`.
  /// `introduce`: this server's hello, if another is called.
  Followed follow(const Roster& roster, NodeId self,
                  const std::function<control::Hello()>& introduce, Time now);
  /// False: it stands by.
  bool serves() const { return serves_; }
  /// Somebody else has all that this one has, or is to have it.
  bool replicates() const { return sender_.standby() != nullptr; }
  const Member* other() const { return sender_.standby(); }

  /// A server's hello.
  void greet(LinkId link, const control::Hello& hello);
  /// The other's link: what comes there is for these two, and lose() says who it was.
  bool is_other(LinkId link) const {
    return link != 0 && (link == sender_.link() || link == receiver_.link());
  }
  void on_control(LinkId link, const control::Message& message);
  void on_data(LinkId link, const wire::Header& header, const Buffer& payload);
  void on_acked(LinkId link, const wire::Key& key) {
    if (link == sender_.link()) sender_.on_acked(key);
  }
  /// A link has ended: the member behind it, if it was the other's.
  std::optional<Member> lose(LinkId link);

  void opened(const control::Open& open) { sender_.opened(open); }
  /// A worker's frame. True if it waits, and is dispatched later.
  bool takes(LinkId link, WorkerLinks::Worker worker, const wire::Header& header,
             const Buffer& payload);
  /// Before something counts for this part.
  void meet(const OwnedSlots::Place& place) { sender_.meet(place); }
  /// A part is to be changed otherwise than by updates. True if that waits, and is asked later.
  bool takes(const Part& part, LinkId link, const control::StateRequest& request);
  /// It has been. Who asked for it is answered once the other has the part as it is now.
  void changed(const OwnedSlots::Place& place, LinkId link, const control::StatePiece& answer);
  /// A complete update: released at once, or once the other has it.
  void append(const OwnedSlots::Place& place, Update update, std::int32_t priority) {
    sender_.append(place, std::move(update), priority);
  }
  /// A round has ended and made no update: released in the same way.
  void made_nothing(const OwnedSlots::Place& place) { sender_.hold(place); }
  /// The push has counted: it is acknowledged, once what it has completed is released.
  void ack(const Part& part, LinkId link, std::uint64_t sequence, bool at_once);
  /// All has been done for a push. One that has not counted, and is not to be acknowledged, holds
  /// up no other.
  void handled(LinkId link, const wire::Header& header);
  /// Once a turn. What the scheduler is to hear, which is at this link, or away (0). Once by each
  /// link: another scheduler may not know it, of who serves nor of who stands by, whoever is lost.
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
    Time since = Time::max();  // It waits for workers that have yet to call.
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
  LinkId told_at_ = 0;               // The scheduler, by this link, who has all.
  std::optional<Member> served_by_;  // Whom this one stands by for.
  std::vector<Caller> callers_;      // Servers whose hellos wait for a roster.
  std::map<wire::Key, std::deque<Frame>> held_;
  std::map<wire::Key, Ack> owed_;  // Of parts that are not settled.
  std::map<wire::Key, std::deque<Request>> requests_;
  std::map<wire::Key, Answer> answers_;
  std::set<wire::Key> going_on_;  // Parts whose frames are being dispatched.
};

}  // namespace stretto
