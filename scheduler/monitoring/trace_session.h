// SPDX-License-Identifier: Apache-2.0
// TraceSession: the trace that somebody asks for while the job runs: who is told to start and stop,
// whose turn it is to send what they noted, and what came. Pure: it sends nothing.
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
  /// Records of one trace in all, and the room that each node makes.
  static constexpr std::size_t kMostRecords = std::size_t{1} << 20;
  static constexpr std::uint32_t kRoom = 1 << 16;
  static constexpr std::uint32_t kMostSeconds = 3600;

  struct Order {
    NodeId node = 0;
    control::TraceCommand command;
  };

  /// Begins a trace of these members until every worker has begun `iterations` rounds more (0: no
  /// such end), or `seconds` have passed. Errors: Resource if one is in flight or nobody is in;
  /// InvalidArgument.
  Status start(const std::vector<Member>& members, std::uint32_t iterations, std::uint32_t seconds,
               Time now);
  void on_chunk(NodeId node, const control::TraceChunk& chunk, Time now);
  /// Nothing more will come from this node.
  void gone(NodeId node);
  /// What is to be sent now.
  std::vector<Order> due(Time now);
  bool active() const { return state_ == State::kRunning || state_ == State::kDraining; }

  State state() const { return state_; }
  std::uint64_t number() const { return number_; }
  const trace::Trace& trace() const { return trace_; }
  /// What is wrong with it, such as that nodes write files themselves; empty: nothing.
  const std::string& remark() const { return remark_; }
  /// {"state":"done","number":1,"remark":"",...,"nodes":[...]}, with 1000 nodes from `first` on.
  std::string json(std::size_t first) const;

 private:
  struct Source {
    std::size_t index = 0;  // In trace_.nodes.
    bool worker = false;
    bool told = false;   // That it starts.
    bool asked = false;  // To send.
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
  bool stopping_ = false;  // STOP is to be sent.
  std::map<NodeId, Source> sources_;
  trace::Trace trace_;
  std::size_t records_ = 0;
  std::string remark_;
};

std::string_view name_of(TraceSession::State state);

}  // namespace stretto
