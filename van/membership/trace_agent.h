// SPDX-License-Identifier: Apache-2.0
// TraceAgent: a node's side of tracing: starts and stops the loop's tracer on the scheduler's
// commands, sends recorded notes, and writes traces that the settings request to files.
#pragma once

#include <memory>
#include <string>

#include "common/config/config.h"
#include "observe/trace/recorder.h"
#include "observe/trace/trace.h"
#include "van/engine/van.h"
#include "van/membership/membership_client.h"

namespace stretto {

/// Thread: loop; tracer().on(): any.
class TraceAgent {
 public:
  TraceAgent(const Config& config, Van& van);
  ~TraceAgent() { stop(); }
  TraceAgent(const TraceAgent&) = delete;
  TraceAgent& operator=(const TraceAgent&) = delete;

  Tracer& tracer() { return tracer_; }
  /// Handles a trace command of the scheduler. False: the message is another one.
  bool on_control(LinkId link, const control::Message& message);
  /// A tensor's name, for files.
  void name(std::uint32_t tensor, const std::string& name);
  /// Call in each iteration: with the membership, and the rounds that this node has pushed.
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
  std::unique_ptr<trace::Recorder> recorder_;  // Of a trace to files.
  bool looked_ = false;                        // The settings were checked for one.
  bool byteps_ = false;                        // The BytePS steps are counted.
  Time began_;                                 // Start of the current trace.
  std::uint64_t session_ = 0;
  std::uint64_t rounds_ = 0;
  std::uint64_t last_round_ = 0;      // Of the session.
  std::uint64_t dropped_before_ = 0;  // By earlier sessions.
};

}  // namespace stretto
