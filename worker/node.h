// SPDX-License-Identifier: Apache-2.0
// WorkerNode: a worker's life on its loop: join, links to every shard, leaving, and the end when
// somebody is lost. What the program asks for is RequestDispatcher's.
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

  /// `coder` is where codecs run; `on_place` hears in step() where it stands, at each view.
  WorkerNode(const Config& config, std::unique_ptr<Transport> transport, const Clock& clock,
             std::unique_ptr<CodecExecutor> coder = std::make_unique<CodecExecutor>(),
             ViewListener::Then on_place = nullptr);

  /// `done` hears when there are links to every shard, if the job has any; of one that joins a job
  /// that runs, when it takes part. Other workers are told `address`, where the transport listens;
  /// empty: they cannot call.
  void join(Done done, std::string address = {});
  /// What is asked of this worker; refused once it leaves.
  RequestDispatcher& work() { return work_; }
  /// Leaves when nothing is in flight any more. Who asks again while that takes hears the same.
  void leave(Done done);
  /// Ends everything at once, without leaving: others will see this worker lost.
  void abandon();

  void step(Duration wait) override;
  Time next_due() const override;
  /// True once it has left or failed: every ticket has ended, and nobody reads the users' memory.
  bool over() const override { return ended_; }

  /// Nothing of this worker's own is in flight.
  bool idle() const { return work_.idle(); }
  /// True once there are links to every shard.
  bool joined() const { return shards_.complete(); }
  const MembershipClient& membership() const { return membership_; }
  const Van& van() const { return van_; }
  /// Numbers go to this board now and then. Before the loop starts.
  void set_board(metrics::MetricsSnapshots* board) { pen_.set_board(board, 0); }
  /// Heartbeats tell what this process's readers did, and these are told the scheduler's limit. It
  /// outlives this. Before the loop starts.
  void set_input(InputAccount* input) { input_.set_account(input); }
  /// What heartbeats take along of the program.
  ActivityReport& activity() { return activity_; }
  /// For spans of the user's own; whether it is on any thread may ask.
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
  std::vector<Done> leaving_;           // Who waits for that.
  std::optional<Time> farewell_until_;  // Other workers have been told that this one leaves.
  std::optional<Time> heard_until_;     // Before that, they are waited for to have heard all.
  std::optional<Time> stuck_since_;     // Links have held memory of ended operations for too long.
  bool ended_ = false;
  Time without_memory_until_ = Time::max();
};

}  // namespace stretto
