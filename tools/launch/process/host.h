// SPDX-License-Identifier: Apache-2.0
// Host: where processes of the job run, seen from the loop that looks after them. LocalHost starts
// them itself; RemoteHost has an agent do it, which is a LocalHost behind a link.
#pragma once

#include <cstddef>
#include <string_view>

#include "stretto/status.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/process/process_events.h"

namespace stretto::launch {

/// What a host tells of its processes. A member is named by its index among the job's members.
class HostEvents {
 public:
  virtual ~HostEvents() = default;

  /// It could not be run: it never was.
  virtual void on_refused(std::size_t member, Status why) = 0;
  /// A line that it said, with its end: where it listens, and then each line_of(JobFormation). At
  /// first also: what is no line and never will be one; empty: nothing.
  virtual void on_ready(std::string_view text) = 0;
  /// Bytes of its stdout (0) or stderr (1), cut anywhere.
  virtual void on_output(std::size_t member, std::size_t stream, std::string_view bytes) = 0;
  /// Comes after on_orphans, if that number has changed.
  virtual void on_ended(std::size_t member, Exit exit) = 0;
};

/// Thread: loop.
class Host {
 public:
  virtual ~Host() = default;

  /// Runs `command` as `member`; `tells_ready`: it will say on kReadyDescriptor where it listens.
  /// Refusals come as an event, during the call or later.
  virtual void start(std::size_t member, const Command& command, bool tells_ready) = 0;
  virtual void signal(const SignalOrder& order) = 0;
  /// Says a line, with its end, to the member that tells where it listens; once it is started.
  virtual void tell(std::string_view line) = 0;
  /// Leaves this stream's output with the processes until it is resumed.
  virtual void pause(std::size_t stream, bool paused) = 0;
  /// Processes that ended members have left behind and that still run.
  virtual std::size_t orphans() const = 0;
};

}  // namespace stretto::launch
