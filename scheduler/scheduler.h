// SPDX-License-Identifier: Apache-2.0
// Scheduler: gathers the nodes, tells everybody who is in, keeps the tensors' names and places,
// opens barriers, and decides when somebody is lost. It never sees a tensor's bytes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/gathering.h"
#include "scheduler/admission.h"
#include "scheduler/barrier.h"
#include "scheduler/input_watch.h"
#include "scheduler/observers.h"
#include "scheduler/overview.h"
#include "scheduler/picture.h"
#include "scheduler/registry.h"
#include "scheduler/slot_table.h"
#include "scheduler/trace_session.h"
#include "scheduler/whereabouts.h"
#include "van/loop.h"
#include "van/membership.h"
#include "van/van.h"

namespace stretto {

/// Thread: loop.
class Scheduler final : public Agent, private Van::Handler {
 public:
  Scheduler(const Config& config, std::unique_ptr<Transport> transport, const Clock& clock);

  Result<std::string> listen(std::string_view address);

  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return phase_ == Phase::kOver; }

  /// Ok after an orderly end; else what every node was told.
  const Status& status() const { return status_; }
  /// Ends the job with an error, told to everybody. For signals.
  void stop(Status why) { fail(std::move(why)); }
  const Van& van() const { return van_; }
  /// How far the workers are, in Prometheus's text format.
  std::string metrics() const { return overview_.metrics(clock_.now()) + input_.metrics(); }
  const Picture& picture() const { return picture_; }
  const InputWatch& input() const { return input_; }
  const TraceSession& trace() const { return trace_; }
  /// "gathering", "running", ...
  std::string_view phase() const;
  Gathering gathering() const {
    if (slots_.has_value()) return Gathering::kComplete;
    return roll_.has_worker() ? Gathering::kAwaited : Gathering::kUnawaited;
  }
  /// Begins a trace, for the live page.
  Status start_trace(std::uint32_t iterations, std::uint32_t seconds);
  std::map<std::uint32_t, std::string> tensor_names() const;

 private:
  enum class Phase {
    kGathering,
    kRunning,
    kDispersing,  ///< All workers have left; the servers are told to go.
    kFailing,     ///< Everybody is being told.
    kOver
  };
  struct Node {
    Member member;
    LinkId link = 0;
    Time last_heard;
  };
  struct Doubt {  // A node's report that its link to another broke.
    NodeId reporter = 0;
    NodeId subject = 0;
    std::string cause;
    Time due;
  };

  void on_control(LinkId link, const wire::Control& message) override;
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override;
  void on_acked(LinkId, wire::Key) override {}
  void on_broken(LinkId link, const Status& why) override;

  void on_hello(LinkId link, const wire::Hello& hello);
  void on_observer(LinkId link, const wire::Hello& hello);
  void observe(LinkId link, const wire::Control& message);
  void on_heartbeat(const Node& node, const wire::Control& message);
  void go_on_tracing();
  void on_declare(const Node& node, const wire::Declare& declare);
  void refuse_tensor(const Node& node, const std::string& name, const Status& why);
  void tell_mismatch(const Registry::Entry& entry);
  void on_barrier(Node& node, const wire::Barrier& barrier);
  void on_leave(Node& node);
  void on_link_report(const Node& node, const wire::LinkReport& report);

  void begin();
  void publish(const Roster& roster);
  void publish_departures();
  void broadcast(const wire::Control& message);
  void lose(Node& node, const std::string& cause);
  void fail(Status why);
  void fail_barriers(const Member& absent);
  void tick();
  void watch(Time now);
  void watch_input(Time now);
  bool all_workers_left() const;

  const Config& config_;
  const Clock& clock_;
  Van van_;
  Phase phase_ = Phase::kGathering;
  Status status_;
  const Time began_;
  Time deadline_;  // Of gathering, dispersing or failing.
  Time next_watch_;
  Admission roll_;
  Registry registry_;
  Barriers barriers_;
  std::optional<SlotTable> slots_;
  SlotMap slot_map_;
  Roster roster_;
  std::vector<Member> departed_;  // Since it was published.
  std::map<NodeId, Node> nodes_;
  std::map<LinkId, NodeId> by_link_;
  std::vector<Doubt> suspicions_;
  Overview overview_;
  Whereabouts whereabouts_;
  Picture picture_;
  InputWatch input_;
  TraceSession trace_;
  Observers observers_;
  Wakefulness wakefulness_;
};

}  // namespace stretto
