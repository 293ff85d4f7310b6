// SPDX-License-Identifier: Apache-2.0
// Starts one process so that it cannot outlive the launcher and cannot be lost sight of: a process
// group of its own, a pidfd, pipes for its output, and the kernel's promise to kill it when the
// launcher dies. That promise is for the process itself: it does not reach its children, and the
// kernel forgets it when a set-user-id program is executed.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>

#include "common/descriptor.h"
#include "stretto/status.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/process/process_events.h"

namespace stretto::launch {

/// Thread: loop. Leaves its process behind unless kill_and_reap() was called.
struct ChildProcess {
  pid_t process_id = -1;  ///< Also the id of its process group.
  Descriptor handle;      ///< A pidfd: readable once the process has ended; closed: it has.
  Descriptor output;      ///< The read end of its stdout; does not block.
  Descriptor errors;      ///< The same of its stderr.
  Descriptor input;       ///< The write end of its stdin, if that was wanted; does not block.
};

/// What a process finds besides its stdout and stderr.
struct Ends {
  int ready = -1;            ///< As kReadyDescriptor; -1: nothing.
  bool wants_input = false;  ///< As stdin a pipe of ours, and not /dev/null.
};

/// What the launcher changed about signals for itself, and a process gets back.
struct SignalState {
  sigset_t mask{};
  bool pipe_ignored = false;
};

/// Needs descriptors 0 to 2 to be open.
/// Errors: Resource if the system gives no process or descriptor, InvalidArgument if it cannot
/// execute the program.
Result<ChildProcess> spawn(const Command& command, const Ends& ends, const SignalState& signals);

/// How it ended, or nothing while it runs. Leaves it unreaped: until then nobody else can get its
/// id or its group's.
std::optional<Exit> exit_of(const ChildProcess& child);

/// The signal of a terminal that has stopped it since the last call, SIGTTIN or SIGTTOU: it cannot
/// use the terminal, and would be stopped again. None: it runs, or another signal stopped it.
std::optional<int> terminal_stop_of(const ChildProcess& child);

/// Signals the process, or all of its group. Fine if it has ended.
void send_signal(const ChildProcess& child, int signal, SignalOrder::Scope scope);

/// SIGKILL for all that is left of its group; then the process is reaped, which takes a moment.
void kill_and_reap(const ChildProcess& child);

}  // namespace stretto::launch
