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
#include <vector>

#include "server/ack_order.h"
#include "server/replica_receiver.h"
#include "server/replica_sender.h"

namespace stretto {

/// Thread: loop.
class Replication {
 public:
  /// What a shard does with the frame of a worker.
  using Dispatch = std::function<void(LinkId, WorkerLinks::Worker, const wire::Header&, Buffer)>;
  /// Who waits for a part may be told now.
  using Announce = std::function<void(Part&)>;

  /// All outlive this.
  Replication(const Config& config, Van& van, const WorkerLinks& workers, OwnedSlots& slots,
              Announce announce, Dispatch dispatch);

  /// What a roster says of this shard, which is member `self`. True if it serves from now on, and
  /// has stood by until now.
  Result<bool> follow(const Roster& roster, NodeId self, const control::Hello& hello);
  /// False: it stands by.
  bool serves() const { return serves_; }
  /// Somebody else has all that this one has, or is to have it.
  bool replicates() const { return sender_.standby() != nullptr; }

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
  void changed(const OwnedSlots::Place& place) { sender_.copy_again(place); }
  /// A complete update: released at once, or once the other has it.
  void append(const OwnedSlots::Place& place, Update update, std::int32_t priority) {
    sender_.append(place, std::move(update), priority);
  }
  /// The push has counted: it is acknowledged, once what it has completed is released.
  void ack(const Part& part, LinkId link, std::uint64_t sequence, bool at_once);
  /// It has not, and never will.
  void refused(LinkId link, std::uint64_t sequence) { acks_.refused(link, sequence); }
  /// Once a turn. What the scheduler is to hear, once.
  std::optional<control::StandbyReady> step() { return sender_.step(); }

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
  };

  void released(Part& part);
  void answer_callers(const Roster& roster, const Member& self);

  const Config& config_;
  Van& van_;
  const WorkerLinks& workers_;
  OwnedSlots& slots_;
  const Announce announce_;
  const Dispatch dispatch_;
  ReplicaSender sender_;
  ReplicaReceiver receiver_;
  AckOrder acks_;
  bool serves_ = true;
  std::uint32_t followed_ = 0;       // Epoch.
  std::optional<Member> served_by_;  // Whom this one stands by for.
  std::vector<Caller> callers_;      // Servers whose hellos wait for a roster.
  std::map<wire::Key, std::deque<Frame>> held_;
  std::map<wire::Key, Ack> owed_;  // Of parts that are not settled.
};

}  // namespace stretto
