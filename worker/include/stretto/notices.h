// SPDX-License-Identifier: Apache-2.0
// Leaving by notice: SIGTERM tells a worker of an elastic job that its host, or its place in a
// cluster, goes. It leaves in order as its step ends; the others go on without it, make no step
// again, and call nobody lost.
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
  /// From now on SIGTERM is a notice. A second one, or `patience` without the end of a step, ends
  /// the process at once, as SIGTERM does by default. Where the program handles or ignores SIGTERM
  /// itself, and in a job of fixed size, nothing changes. SIGTERM ends children made by fork.
  explicit Notices(Worker& worker, std::chrono::milliseconds patience = std::chrono::seconds(20));
  /// SIGTERM ends the process again, unless the program has set a handler meanwhile.
  ~Notices();
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  /// The notice has come. Thread: any.
  bool told() const;
  /// A step has ended, and nothing of it is in flight. True if this worker was told to go and has
  /// left the job: then the process should end, with status 0, since it has done its part. Errors
  /// are those of Worker::leave. Makes SIGTERM a notice again where it has its default.
  Result<bool> leave_if_told();

 private:
  Worker* worker_;
  std::unique_ptr<NoticeWatch> watch_;
};

}  // namespace stretto
#pragma GCC visibility pop
