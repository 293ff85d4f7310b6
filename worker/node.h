// SPDX-License-Identifier: Apache-2.0
// WorkerNode: a worker's life cycle on its loop: it joins, connects to every shard, leaves, and
// fails when a member is lost. RequestDispatcher has the program's requests.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"
#include "observe/metrics/snapshots.h"
#include "van/engine/van.h"
#include "van/event_loop/loop.h"
#include "van/membership/membership_client.h"
#include "van/membership/trace_agent.h"
#include "worker/elastic/worker_view.h"
#include "worker/monitoring/activity_report.h"
#include "worker/monitoring/input_report.h"
#include "worker/request_dispatcher.h"
#include "worker/server_path/shard_links.h"

namespace stretto {

/// Thread: loop. Every callback is called exactly once, inside step() or the call it was given to.
class WorkerNode final : public LoopTask, private Van::Handler {
 public:
  using Done = RequestDispatcher::Done;
  using Declared = RequestDispatcher::Declared;

  /// `coder` runs the codecs. step() calls `on_place` with each new view of this worker.
  WorkerNode(const Config& config, std::unique_ptr<Transport> transport, const Clock& clock,
             std::unique_ptr<CodecExecutor> coder = std::make_unique<CodecExecutor>(),
             ViewListener::Then on_place = nullptr);

  /// `done` is called once there are links to every shard, if the job has any; for a worker that
  /// joins a running job, once it takes part. Other workers receive `address`, where the transport
  /// listens; if it is empty, they cannot connect.
  void join(Done done, std::string address = {});
  /// The program's requests; refused once this worker leaves.
  RequestDispatcher& work() { return work_; }
  /// Leaves once no operation is in flight. A repeated call meanwhile gets the same outcome.
  void leave(Done done);
  /// Ends everything at once, without leaving: other members see this worker lost.
  void abandon();

  void step(Duration wait) override;
  Time next_due() const override;
  /// True once it has left or failed: every ticket has ended, and users' memory is free.
  bool over() const override { return ended_; }

  /// True if no operation of this worker is in flight.
  bool idle() const { return work_.idle(); }
  /// True once there are links to every shard.
  bool joined() const { return shards_.complete(); }
  const MembershipClient& membership() const { return membership_; }
  const Van& van() const { return van_; }
  /// Publishes metrics to this board periodically. Call before the loop starts.
  void set_board(metrics::MetricsSnapshots* board) { pen_.set_board(board, 0); }
  /// Heartbeats report the work of this process's readers, and the readers get the scheduler's
  /// limit. `input` outlives this. Call before the loop starts.
  void set_input(InputAccount* input) { input_.set_account(input); }
  /// What heartbeats report of the program's activity.
  ActivityReport& activity() { return activity_; }
  /// For spans of the user's own; any thread may ask whether tracing is on.
  Tracer& tracer() { return trace_.tracer(); }

 private:
  void on_control(LinkId link, const control::Message& message) override;
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override {
    work_.exchange().on_data(link, header, std::move(payload));
  }
  void on_acked(LinkId, wire::PushTag push) override { work_.exchange().servers().on_acked(push); }
  std::span<std::byte> landing(LinkId link, const wire::Header& header) override {
    return work_.exchange().landing(link, header);
  }
  void on_broken(LinkId link, const Status& why) override;

  void tick();
  void go_if_free();
  void finish();

  const Clock& clock_;
  Van van_;
  MembershipClient membership_;
  TraceAgent trace_;
  metrics::Publisher pen_;
  InputReport input_;
  ActivityReport activity_;
  ShardLinks shards_;
  RequestDispatcher work_;
  Done joining_;
  ViewListener places_;
  std::vector<Done> leaving_;           // Callers that wait for that.
  std::optional<Time> farewell_until_;  // Other workers have received this worker's leave.
  std::optional<Time> heard_until_;     // Before that, their acknowledgements are awaited.
  std::optional<Time> stuck_since_;     // Since when memory of ended operations is held too long.
  bool ended_ = false;
  Time without_memory_until_ = Time::max();
};

}  // namespace stretto
