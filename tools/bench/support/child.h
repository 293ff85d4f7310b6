// SPDX-License-Identifier: Apache-2.0
// Child: a process that this one has started, and that does not outlive it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <vector>

#include "common/descriptor.h"
#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto::bench {

/// Sent SIGTERM, then SIGKILL, and reaped, with its owner.
class Child {
 public:
  /// Runs `body` in a new process, which ends with its result as exit status. Only where this
  /// process has a single thread. If this process dies the child is sent `death_signal`.
  static Result<Child> start(int death_signal, const std::function<int()>& body);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t process_id() const { return process_id_; }
  /// Readable once it has ended.
  const Descriptor& handle() const { return handle_; }
  /// Its exit status once it has ended, 128 + signal for one that was killed; none at `deadline`.
  std::optional<int> wait(Time deadline);
  void send_signal(int signal) const;

 private:
  Child(pid_t process_id, Descriptor handle)
      : process_id_(process_id), handle_(std::move(handle)) {}

  pid_t process_id_;
  Descriptor handle_;
  std::optional<int> exit_status_;
};

/// Several that are forked and execute nothing else, or what `become` makes of them. Ended with
/// their owner.
class Children {
 public:
  Status start(const std::function<int()>& body);
  std::vector<Child*> all();
  std::vector<pid_t> process_ids() const;
  /// Nothing of theirs needs an orderly end.
  void kill();

 private:
  std::vector<Child> children_;
};

/// Milliseconds to `deadline` as poll() wants them, rounded up; 0 if it has passed.
int milliseconds_to(Time deadline);

}  // namespace stretto::bench
