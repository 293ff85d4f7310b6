// SPDX-License-Identifier: Apache-2.0
// WorkerImpl: the implementation of Worker: the node, its loop, and the worker's rank.
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/disk_executor.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/mutex.h"
#include "observe/metrics/endpoint.h"
#include "van/event_loop/loop_thread.h"
#include "worker/api/loop_request.h"
#include "worker/api/rank_view.h"
#include "worker/node.h"

namespace stretto::detail {

/// The outcome of a wait for the worker that a signal's handler interrupted.
Status interrupted(std::string_view what);

/// The node and its loop. Thread: any.
class WorkerImpl {
 public:
  using Loop = LoopThread<WorkerNode, LoopRequest>;

  WorkerImpl(Config config, std::shared_ptr<InputAccount> input,
             std::unique_ptr<Transport> transport);

  /// Tickets can be cancelled and resumed until the end, which lets the worker leave. When this
  /// returns, every ticket has ended.
  ~WorkerImpl() {
    if (loop_.started()) (void)leave(kLastPatience);
    loop_.stop();
  }

  /// Call before join().
  void set_stack_source(const std::function<std::string()>& source) {
    node_.activity().set_stack_source(source);
  }
  Status join();
  /// The outcome; none if leaving takes longer than `patience`.
  std::optional<Status> leave(Duration patience);

  Loop& loop() { return loop_; }
  const Loop& loop() const { return loop_; }
  const Config& config() const { return config_; }
  Standing& standing() { return standing_; }
  bool tracing() { return node_.tracer().on(); }
  StepCount& steps() { return *step_count_; }
  /// Runs the job on a disk thread, which the first job starts. All posted jobs are done before
  /// this ends.
  Status post_to_disk(checkpoint::DiskExecutor::Job job) {
    MutexLock lock(disk_mutex_);
    if (disk_ == nullptr) {
      auto started = checkpoint::ThreadDiskExecutor::start();
      if (!started.ok()) return started.status();
      disk_ = *std::move(started);
    }
    disk_->post(std::move(job));
    return {};
  }
  CheckpointPointWord& offers() { return *offers_; }
  const std::shared_ptr<Pauses>& pauses() { return node_.activity().pauses(); }
  void report(std::string_view name, double value);
  void note_name(std::uint32_t tensor, std::string_view name) {
    MutexLock lock(names_mutex_);
    names_[tensor] = name;
  }
  /// For messages: "tensor 'x'".
  std::string name_of_tensor(std::uint32_t tensor) {
    MutexLock lock(names_mutex_);
    const auto found = names_.find(tensor);
    return found == names_.end() ? fmt::format("tensor {}", tensor)
                                 : fmt::format("tensor '{}'", found->second);
  }
  /// Counts one more group of this description, and returns their number.
  std::uint32_t count_group(const std::string& description) {
    MutexLock lock(groups_mutex_);
    return ++groups_[description];
  }

 private:
  static constexpr Duration kLastPatience = 10s;

  // Follows the work of a codec, which ends before the loop does.
  void return_to_loop(CodecExecutor::Work then) {
    loop_.post([then = std::move(then)](WorkerNode&) { then(); });
  }

  const Config config_;
  const std::shared_ptr<InputAccount> input_;
  const std::string address_;
  const SteadyClock clock_;
  const std::shared_ptr<metrics::MetricsSnapshots> board_ =
      std::make_shared<metrics::MetricsSnapshots>();
  std::unique_ptr<metrics::MetricsEndpoint> endpoint_;
  std::atomic<bool> complained_{false};  // A report was rejected.
  Standing standing_;
  Mutex disk_mutex_;
  std::unique_ptr<checkpoint::ThreadDiskExecutor> disk_ GUARDED_BY(disk_mutex_);
  Mutex groups_mutex_;
  std::map<std::string, std::uint32_t> groups_ GUARDED_BY(groups_mutex_);
  Mutex names_mutex_;
  std::map<std::uint32_t, std::string> names_ GUARDED_BY(names_mutex_);
  WorkerNode node_;
  const std::shared_ptr<StepCount> step_count_ = node_.work().steps().gate().count();
  const std::shared_ptr<CheckpointPointWord> offers_ = node_.work().checkpoints().offers().word();
  Loop loop_{node_, clock_};  // Last: destroyed before what it uses.
};

/// Why a blocking call cannot be made here: it would wait for itself, or this is a forked child.
Status refusal(const WorkerImpl& impl, std::string_view what);
/// Leaves and destroys the worker; leaks it in a forked child.
void end_or_forget(std::unique_ptr<WorkerImpl> impl);

}  // namespace stretto::detail
