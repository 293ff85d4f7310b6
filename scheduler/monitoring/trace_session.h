// SPDX-License-Identifier: Apache-2.0
// TraceSession: a trace requested while the job runs: which nodes start and stop, which node sends
// its records next, and what was received. Pure: it sends nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "observe/trace/timeline.h"
#include "stretto/status.h"
#include "van/control/control.h"

namespace stretto {

/// Thread: loop. One trace at a time; the last one is kept until the next begins.
class TraceSession {
 public:
  enum class State { kNone, kRunning, kDraining, kDone };
  /// Records of a trace in all, and the buffer of each node.
  static constexpr std::size_t kMostRecords = std::size_t{1} << 20;
  static constexpr std::uint32_t kRoom = 1 << 16;
  static constexpr std::uint32_t kMostSeconds = 3600;

  struct Order {
    NodeId node = 0;
    control::TraceCommand command;
  };

  /// Starts a trace of these members until every worker has begun `iterations` more rounds (0: no
  /// such end), or `seconds` have passed. Errors: Resource if a trace is active or the job has no
  /// member; InvalidArgument.
  Status start(const std::vector<Member>& members, std::uint32_t iterations, std::uint32_t seconds,
               Time now);
  void on_chunk(NodeId node, const control::TraceChunk& chunk, Time now);
  /// This node will send no further records.
  void gone(NodeId node);
  /// The messages to send now.
  std::vector<Order> due(Time now);
  bool active() const { return state_ == State::kRunning || state_ == State::kDraining; }

  State state() const { return state_; }
  std::uint64_t number() const { return number_; }
  const trace::Trace& trace() const { return trace_; }
  /// Defects of the trace, such as nodes that write files themselves; empty: none.
  const std::string& remark() const { return remark_; }
  /// {"state":"done","number":1,"remark":"",...,"nodes":[...]}, with 1000 nodes from `first` on.
  std::string json(std::size_t first) const;

 private:
  struct Source {
    std::size_t index = 0;  // In trace_.nodes.
    bool worker = false;
    bool told = false;   // To start.
    bool asked = false;  // To send its records.
    bool reached = false;
    bool over = false;
    Time asked_at;
    Time ask_next;
  };

  void begin_draining(Time now);
  void finish_if_over();

  State state_ = State::kNone;
  std::uint64_t number_ = 0;
  std::uint32_t iterations_ = 0;
  Time deadline_;
  bool stopping_ = false;  // STOP must be sent.
  std::map<NodeId, Source> sources_;
  trace::Trace trace_;
  std::size_t records_ = 0;
  std::string remark_;
};

std::string_view name_of(TraceSession::State state);

}  // namespace stretto
