// SPDX-License-Identifier: Apache-2.0
// Shard: one server thread with its own endpoint. It owns cells, applies the shares that workers
// push, and sends each finished value to those who wait for it. Receive, sum and send are one call
// chain; there is no queue and no lock between them.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "common/config.h"
#include "server/cell.h"
#include "server/held_back.h"
#include "server/sitting_out.h"
#include "van/loop.h"
#include "van/membership.h"
#include "van/trace_agent.h"
#include "van/van.h"
#include "van/van_metrics.h"

namespace stretto {

/// Thread: loop.
class Shard final : public Agent, private Van::Handler {
 public:
  Shard(const Config& config, std::uint32_t index, std::unique_ptr<Transport> transport,
        const Clock& clock);

  /// Listens at `address` and goes to the scheduler. Others are told `advertised_host`, if not
  /// empty, and the port.
  Status start(std::string_view address, const std::string& advertised_host);

  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return membership_ && membership_->over(); }

  /// Ok after an orderly end; else why the job failed.
  const Status& status() const { return membership_->status(); }
  /// The scheduler is told why, if it is there: over a moment later.
  void stop(Status why) { membership_->resign(std::move(why)); }
  const Van& van() const { return van_; }
  /// Numbers go to this board now and then. Before the loop starts.
  void set_board(metrics::Board* board) { pen_.set_board(board, index_); }
  /// Bytes of declared parts that live here.
  std::uint64_t declared_bytes() const { return declared_bytes_; }
  /// Visits every cell, for checkers in tests.
  template <typename Visit>
  void for_each_cell(Visit visit) const {
    for (const auto& [id, tensor] : tensors_) {
      for (const auto& [part, cell] : tensor.cells) visit(tensor.spec, part, cell);
    }
  }

 private:
  struct TensorState {
    TensorSpec spec;
    Cut cut;
    std::unordered_map<std::uint32_t, Cell> cells;
  };
  struct Caller {  // A worker's hello that waits for the roster.
    LinkId link = 0;
    wire::Hello hello;
  };

  void on_control(LinkId link, const wire::Control& message) override;
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override;
  void on_acked(LinkId, wire::Key) override {}
  void on_broken(LinkId link, const Status& why) override;

  void answer(const Caller& caller);
  void on_open(LinkId link, const wire::Open& open);
  void on_state_request(LinkId link, const wire::StateRequest& request);
  void on_push(LinkId link, Rank rank, const wire::Header& header, Buffer payload);
  void on_pull(LinkId link, Rank rank, const wire::Header& header);
  void on_probe(LinkId link, Rank rank, const wire::Header& header, const Cell& cell);
  Result<Cell*> find_cell(const wire::Header& header);
  bool waits_too_often(const Cell& cell, Rank rank) const;
  void tell_ready(const wire::Key& key, const TensorSpec& spec, Cell& cell);
  void tell(const wire::Key& key, const TensorSpec& spec, const Cell& cell,
            const Cell::Waiter& waiter);
  void note_share(const wire::Header& header, std::size_t bytes, bool updates, Time begin);
  void fault(LinkId link, const wire::Header& header, const Status& why);
  void disagree(LinkId link, const wire::Header& header, Cell& cell, const Status& why);
  void fail_waiters(const wire::Key& key, const TensorSpec& spec, Cell& cell, const Status& why);
  void check_absentee(const wire::Key& key, const TensorSpec& spec, Cell& cell);
  void follow_roster();
  void watch_stalls(Time now);
  metrics::Metrics metrics() const;

  const Config& config_;
  std::uint32_t index_;
  const Clock& clock_;
  Van van_;
  TraceAgent trace_;
  metrics::Pen pen_;
  std::optional<Membership> membership_;
  std::unordered_map<std::uint32_t, TensorState> tensors_;
  DescriptionBudget budget_;
  std::map<LinkId, Rank> ranks_;
  std::vector<LinkId> links_;    // By rank; 0 is none.
  std::vector<bool> left_;       // By rank: it said so, or a roster,
  std::vector<bool> told_left_;  // and cells have been told, because a roster said so.
  HeldBack held_;
  SittingOut sitting_out_{[this](Rank rank, const wire::Control& message) {
    if (links_[rank] != 0) van_.send_control(links_[rank], message);
  }};
  std::vector<Caller> callers_;
  std::uint32_t followed_epoch_ = 0;
  std::uint64_t declared_bytes_ = 0;
  std::size_t cells_ = 0;  // Of all tensors.
  std::uint64_t shares_ = 0;
  Time next_stall_watch_;
  Time last_stall_warning_;
};

}  // namespace stretto
