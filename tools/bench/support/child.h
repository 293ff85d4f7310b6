// SPDX-License-Identifier: Apache-2.0
// Child: a process that this process has started, and that does not outlive it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <vector>

#include "common/descriptor.h"
#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto::bench {

/// The destructor sends SIGTERM, then SIGKILL, and reaps the process.
class Child {
 public:
  /// Runs `body` in a new process, which exits with its result. This process must have a single
  /// thread. If this process dies the child is sent `death_signal`.
  static Result<Child> start(int death_signal, const std::function<int()>& body);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t process_id() const { return process_id_; }
  /// Readable once the child has ended.
  const Descriptor& handle() const { return handle_; }
  /// The exit status once it has ended, 128 + signal if it was killed; none at `deadline`.
  std::optional<int> wait(Time deadline);
  void send_signal(int signal) const;

 private:
  Child(pid_t process_id, Descriptor handle)
      : process_id_(process_id), handle_(std::move(handle)) {}

  pid_t process_id_;
  Descriptor handle_;
  std::optional<int> exit_status_;
};

/// Several forked processes that run only `body`, or the program that `become` executes. The
/// destructor ends them.
class Children {
 public:
  Status start(const std::function<int()>& body);
  std::vector<Child*> all();
  std::vector<pid_t> process_ids() const;
  /// Kills all of them: none needs an orderly end.
  void kill();

 private:
  std::vector<Child> children_;
};

/// Milliseconds to `deadline` for poll(), rounded up; 0 if it has passed.
int milliseconds_to(Time deadline);

}  // namespace stretto::bench
