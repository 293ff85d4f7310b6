// SPDX-License-Identifier: Apache-2.0
// Starts one process that cannot outlive or escape the launcher: a process group of its own, a
// pidfd, pipes for its output, and PR_SET_PDEATHSIG. That death signal covers the process but not
// its children, and the kernel clears it when a set-user-id program is executed.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>

#include "common/descriptor.h"
#include "stretto/status.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/process/process_events.h"

namespace stretto::launch {

/// Thread: loop. The process keeps running unless kill_and_reap() was called.
struct ChildProcess {
  pid_t process_id = -1;  ///< Also the id of its process group.
  Descriptor handle;      ///< A pidfd: readable once the process has ended; closed: it has.
  Descriptor output;      ///< The read end of its stdout; does not block.
  Descriptor errors;      ///< The read end of its stderr; does not block.
  Descriptor input;       ///< The write end of its stdin, if requested; does not block.
};

/// Descriptors of a process apart from its stdout and stderr.
struct Ends {
  int ready = -1;            ///< As kReadyDescriptor; -1: nothing.
  bool wants_input = false;  ///< stdin is a pipe of ours, not /dev/null.
};

/// Signal settings that the launcher changed for itself, and that a process gets back.
struct SignalState {
  sigset_t mask{};
  bool pipe_ignored = false;
};

/// Needs descriptors 0 to 2 to be open.
/// Errors: Resource if the system refuses a process or descriptor, InvalidArgument if it cannot
/// execute the program.
Result<ChildProcess> spawn(const Command& command, const Ends& ends, const SignalState& signals);

/// The exit, or nullopt while it runs. Leaves it unreaped, so that its process and group ids are
/// not reused.
std::optional<Exit> exit_of(const ChildProcess& child);

/// SIGTTIN or SIGTTOU if the terminal has stopped it since the last call: it cannot use the
/// terminal, and would stop again. None: it runs, or another signal stopped it.
std::optional<int> terminal_stop_of(const ChildProcess& child);

/// Signals the process, or all of its group. Accepts an exited process.
void send_signal(const ChildProcess& child, int signal, SignalOrder::Scope scope);

/// Kills the rest of its group with SIGKILL, then reaps the process, which takes a moment.
void kill_and_reap(const ChildProcess& child);

}  // namespace stretto::launch
