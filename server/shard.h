// SPDX-License-Identifier: Apache-2.0
// Shard: one server thread with its own endpoint. It owns slots and dispatches messages:
// contributions to the slot of their key, values to their waiters. Receive, sum and send are one
// call chain, without queues or locks between them.
#pragma once

#include <optional>
#include <string>

#include "common/clock.h"
#include "common/config/config.h"
#include "server/checkpoint/shard_persistence.h"
#include "server/monitoring/round_latency.h"
#include "server/monitoring/stall_watchdog.h"
#include "server/monitoring/straggler_time.h"
#include "server/recovery/handoff.h"
#include "server/recovery/state_recovery.h"
#include "server/replication/replication.h"
#include "server/sessions/held_messages.h"
#include "server/sessions/paused_workers.h"
#include "server/sessions/reply_sender.h"
#include "server/sessions/worker_links.h"
#include "server/storage/contributor_changes.h"
#include "server/storage/owned_slots.h"
#include "van/engine/van.h"
#include "van/engine/van_metrics.h"
#include "van/event_loop/loop.h"
#include "van/membership/membership_client.h"
#include "van/membership/trace_agent.h"

namespace stretto {

/// Thread: loop.
class Shard final : public LoopTask, private Van::Handler {
 public:
  /// `files` must outlive this.
  Shard(const Config& config, std::uint32_t index, std::unique_ptr<Transport> transport,
        const Clock& clock, const ShardPersistence::Files& files = {});

  /// Listens at `address` and registers with the scheduler. Peers get `advertised_host`, if not
  /// empty, and the port.
  Status start(std::string_view address, const std::string& advertised_host);

  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return membership_ && membership_->over(); }

  /// Ok after a graceful end; else why the job failed.
  const Status& status() const { return membership_->status(); }
  /// Reports the reason to the scheduler, if it is reachable; over() soon afterwards.
  void stop(Status why) { membership_->resign(std::move(why)); }
  /// Drains: hands off to another server, if possible. over() afterwards.
  void hand_over() { handing_over_.begin(*membership_, clock_.now(), config_.drain); }
  const Van& van() const { return van_; }
  /// Publishes metrics to this store periodically. Call before the loop starts.
  void set_board(metrics::MetricsSnapshots* board) { pen_.set_board(board, index_); }
  /// The slots that it owns; tests check them too.
  const OwnedSlots& slots() const { return slots_; }

 private:
  using Worker = WorkerLinks::Worker;

  void on_control(LinkId link, const control::Message& message) override;
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override;
  void on_acked(LinkId link, wire::PushTag push) override { replication_.on_acked(link, push.key); }
  void on_broken(LinkId link, const Status& why) override;

  void on_open(LinkId link, const control::Open& open);
  void on_take_in(LinkId link, const control::TakeIn& said);
  void on_sit_out(NodeId worker, const control::SitOut& said);
  void on_state_request(LinkId link, const control::StateRequest& request);
  void dispatch(LinkId link, Worker worker, const wire::Header& header, Buffer payload);
  void on_push(LinkId link, Worker worker, const wire::Header& header, Buffer payload);
  void on_pull(LinkId link, Worker worker, const wire::Header& header);
  void count(LinkId link, Worker worker, const wire::Header& header, Buffer payload,
             const OwnedSlots::Place& place);
  void announce(Part& part);
  void follow_roster();

  const Config& config_;
  std::uint32_t index_;
  const Clock& clock_;
  Van van_;
  TraceAgent trace_;
  metrics::Publisher pen_;
  std::optional<MembershipClient> membership_;
  WorkerLinks workers_;
  OwnedSlots slots_;
  ReplySender announcer_;
  PausedWorkers sitting_out_;
  StragglerTime held_;
  StallWatchdog stalls_;
  RoundLatency ended_waits_;
  StateRecovery taking_over_;
  Replication replication_;
  ContributorChanges changes_;
  Handoff handing_over_;
  ShardPersistence archive_;
  HeldMessages held_messages_;
};

}  // namespace stretto
