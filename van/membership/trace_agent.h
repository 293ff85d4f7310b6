// SPDX-License-Identifier: Apache-2.0
// TraceAgent: a node's side of tracing: it starts and stops the loop's tracer as the scheduler
// says, answers with what was noted, and keeps traces that were wanted from the start in files.
#pragma once

#include <memory>
#include <string>

#include "common/config/config.h"
#include "observe/trace/recorder.h"
#include "observe/trace/trace.h"
#include "van/engine/van.h"
#include "van/membership/membership_client.h"

namespace stretto {

/// Thread: loop, but for tracer().on().
class TraceAgent {
 public:
  TraceAgent(const Config& config, Van& van);
  ~TraceAgent() { stop(); }
  TraceAgent(const TraceAgent&) = delete;
  TraceAgent& operator=(const TraceAgent&) = delete;

  Tracer& tracer() { return tracer_; }
  /// What the scheduler says. True if it was about traces.
  bool on_control(LinkId link, const control::Message& message);
  /// A tensor's name, for files.
  void name(std::uint32_t tensor, const std::string& name);
  /// Every turn: who this node is, once it knows, and the rounds that it has pushed.
  void tick(const MembershipClient& membership, std::uint32_t shard, std::uint64_t rounds);

 private:
  void start_files(const MembershipClient& membership, std::uint32_t shard);
  void begin(std::size_t records);
  void stop();
  void follow_steps(std::uint64_t rounds);
  void keep(Result<std::unique_ptr<trace::Sink>> sink);
  void answer(LinkId link, std::uint64_t session);

  const Config& config_;
  Van& van_;
  Tracer tracer_;
  std::unique_ptr<trace::Recorder> recorder_;  // Of a trace from the start.
  bool looked_ = false;                        // Whether one is wanted.
  bool byteps_ = false;                        // Its steps are being counted.
  Time began_;                                 // The trace that is being made.
  std::uint64_t session_ = 0;
  std::uint64_t rounds_ = 0;
  std::uint64_t last_round_ = 0;      // The session's.
  std::uint64_t dropped_before_ = 0;  // In earlier sessions.
};

}  // namespace stretto
