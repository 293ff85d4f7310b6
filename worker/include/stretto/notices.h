// SPDX-License-Identifier: Apache-2.0
// Leaving on a preemption notice: SIGTERM tells a worker of an elastic job that its host, or its
// slot in a cluster, goes away. The worker leaves in order as its step ends. The others continue
// without it, repeat no step, and report no loss.
//
//   stretto::Notices notices(worker);
//   while (training) {
//     ... one step ...
//     if (notices.leave_if_told().or_exit()) return 0;
//   }
#pragma once

#include <chrono>
#include <memory>

#include "stretto/worker.h"

#pragma GCC visibility push(default)
namespace stretto {

class NoticeWatch;

/// One at a time in a process. Thread: one, that of the program's steps. The worker must outlive
/// it.
class Notices {
 public:
  /// From now on SIGTERM is a notice. A second SIGTERM, or `patience` without the end of a step,
  /// ends the process at once, as SIGTERM does by default. No effect if the program handles or
  /// ignores SIGTERM itself, or in a job of fixed size. SIGTERM ends children made by fork.
  explicit Notices(Worker& worker, std::chrono::milliseconds patience = std::chrono::seconds(20));
  /// Restores the default of SIGTERM, unless the program has set a handler meanwhile.
  ~Notices();
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  /// True once the notice has arrived. Thread: any.
  bool told() const;
  /// Call when a step has ended, with nothing of it in flight. True if this worker has received a
  /// notice and left the job: then the process should exit with status 0. Errors are those of
  /// Worker::leave. Makes SIGTERM a notice again where it has its default.
  Result<bool> leave_if_told();

 private:
  Worker* worker_;
  std::unique_ptr<NoticeWatch> watch_;
};

}  // namespace stretto
#pragma GCC visibility pop
