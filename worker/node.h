// SPDX-License-Identifier: Apache-2.0
// WorkerNode: a worker's life on its loop: join, links to every shard, names of tensors, barriers,
// leaving, and the end when somebody is lost. What happens to tensors is the exchange's.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/config.h"
#include "observe/metrics/board.h"
#include "van/loop.h"
#include "van/membership.h"
#include "van/trace_agent.h"
#include "van/van.h"
#include "worker/barrier_calls.h"
#include "worker/exchange.h"
#include "worker/reports.h"
#include "worker/stand_in.h"
#include "worker/state_transfers.h"

namespace stretto {

/// Thread: loop. Every callback is called exactly once, inside step() or the call it was given to.
class WorkerNode final : public Agent, private Van::Handler {
 public:
  using Done = std::function<void(const Status&)>;
  using Declared = std::function<void(const Result<Tensor>&)>;

  /// `coder` is where codecs run.
  WorkerNode(const Config& config, std::unique_ptr<Transport> transport, const Clock& clock,
             std::unique_ptr<Coder> coder = std::make_unique<Coder>());

  void join(Done done);
  void declare(TensorSpec spec, Declared done);
  void start(const std::shared_ptr<Operation>& operation);
  /// Changes what is wanted of an operation that was started, unless it has ended.
  void steer(const std::shared_ptr<Operation>& operation, const detail::Change& change) {
    if (!ended_) exchange_.steer(operation, change);
  }
  /// What the servers' update rule remembers of a tensor, and back; worker.h says what of it
  /// counts.
  void save_state(const Tensor& tensor, StateTransfers::Saved done);
  void load_state(const Tensor& tensor, std::span<const std::byte> state, const Done& done);
  void barrier(const Done& done);
  /// A barrier until which this worker's shares are empty ones, made as rounds want them. Its
  /// result is the rank of who came last. Nothing else may be begun meanwhile.
  void sit_out(BarrierCalls::Done done);
  /// Leaves when nothing is under way any more. Who asks again while that takes hears the same.
  void leave(Done done);

  /// Ends everything at once, without leaving: others will see this worker lost.
  void abandon();

  void step(Duration wait) override;
  Time next_due() const override;
  /// True once it has left or failed: every ticket has ended, and nobody reads the users' memory.
  bool over() const override { return ended_; }

  void wake() { van_.wake(); }
  Rank rank() const { return membership_.rank(); }
  NodeId node() const { return membership_.node(); }
  /// True once there are links to every shard.
  bool joined() const { return joined_; }
  const Status& status() const { return membership_.status(); }
  const Van& van() const { return van_; }
  /// Numbers go to this board now and then. Before the loop starts.
  void set_board(metrics::Board* board) { pen_.set_board(board, 0); }
  /// Heartbeats tell what its readers did, and these are told the scheduler's limit. It outlives
  /// this; null: none. Before the loop starts.
  void set_input(InputAccount* input) { input_ = input; }
  /// Notes a span of the user's own.
  void note(const TraceRecord& record) {
    if (!ended_) trace_.tracer().note(record);
  }
  /// Heartbeats take it along. Thread: any.
  Reports& reports() { return reports_; }
  /// Thread: any.
  bool tracing() { return trace_.tracer().on(); }

 private:
  struct ShardLink {
    Member member;
    LinkId link = 0;
    bool welcomed = false;
  };
  struct PendingDeclare {
    TensorSpec spec;
    std::vector<Declared> done;
    Time deadline;
  };

  void on_control(LinkId link, const wire::Control& message) override;
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override;
  void on_acked(LinkId link, wire::Key key) override;
  std::span<std::byte> landing(LinkId, const wire::Header& header) override {
    return exchange_.landing(header);
  }
  void on_broken(LinkId link, const Status& why) override;

  void on_scheduler(const wire::Control& message);
  void on_declared(const wire::Declared& declared);
  void on_fault(const wire::Fault& fault, const std::string& peer);
  void connect_shards();
  void check_joined();
  void tell_shards(const wire::SitOut& said);
  void go_if_free();
  Membership::Progress progress();
  std::string waits_in() const;
  void limit_input(std::uint64_t bytes);
  void tick();
  metrics::Metrics metrics();
  void finish();
  ShardLink* find_shard(LinkId link);
  bool is_going() const { return ended_ || !leaving_.empty(); }
  Status gone() const;
  Status check_stateful(const Tensor& tensor) const;
  StateTransfers::Target target_of(const Tensor& tensor) const;

  const Config& config_;
  const Clock& clock_;
  Van van_;
  Membership membership_;
  TraceAgent trace_;
  metrics::Pen pen_;
  Reports reports_;
  InputAccount* input_ = nullptr;  // None: nobody tells of it.
  std::uint64_t input_limit_bytes_ = 0;
  Tensors tensors_;
  Exchange exchange_;
  StateTransfers states_;
  std::map<NodeId, ShardLink> shards_;
  Done joining_;
  Time join_deadline_ = Time::max();
  bool joined_ = false;
  std::map<std::string, PendingDeclare> declares_;
  StandIn stand_in_;
  BarrierCalls barriers_;
  std::vector<Done> leaving_;  // Who waits for that.
  bool ended_ = false;
  Time ended_at_ = {};
  Time without_memory_until_ = Time::max();
  Status disagreement_;  // The last about a tensor, and when we were told.
  Time disagreed_at_ = {};
};

}  // namespace stretto
