// SPDX-License-Identifier: Apache-2.0
// Host: a host that runs processes of the job, as the supervising loop sees it. LocalHost starts
// them itself; RemoteHost uses an agent, which is a LocalHost behind a link.
#pragma once

#include <cstddef>
#include <string_view>

#include "stretto/status.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/process/process_events.h"

namespace stretto::launch {

/// The events of a host's processes. `member` is an index into the job's members.
class HostEvents {
 public:
  virtual ~HostEvents() = default;

  /// The member could not be started.
  virtual void on_refused(std::size_t member, Status why) = 0;
  /// A line of the scheduler, with its newline: its address, then each line_of(JobFormation).
  /// Before the first line also text that will get no newline; empty: the scheduler ended.
  virtual void on_ready(std::string_view text) = 0;
  /// Bytes of the member's stdout (0) or stderr (1), split anywhere.
  virtual void on_output(std::size_t member, std::size_t stream, std::string_view bytes) = 0;
  /// Follows any change of orphans() that this end causes.
  virtual void on_ended(std::size_t member, Exit exit) = 0;
};

/// Thread: loop.
class Host {
 public:
  virtual ~Host() = default;

  /// Runs `command` as `member`; `tells_ready`: it will report its address on kReadyDescriptor.
  /// Failures arrive as on_refused(), during the call or later.
  virtual void start(std::size_t member, const Command& command, bool tells_ready) = 0;
  virtual void signal(const SignalOrder& order) = 0;
  /// Sends a line, with its newline, to the member that was started with `tells_ready`.
  virtual void tell(std::string_view line) = 0;
  /// Stops reading this stream of all processes until it is resumed.
  virtual void pause(std::size_t stream, bool paused) = 0;
  /// Running processes that ended members have left behind.
  virtual std::size_t orphans() const = 0;
};

}  // namespace stretto::launch
