// SPDX-License-Identifier: Apache-2.0
// WorkerImpl: what a Worker hides: the node, its loop, and where the worker stands.
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

/// A wait for the worker that a signal's handler ended.
Status interrupted(std::string_view what);

/// The node and its loop. Thread: any.
class WorkerImpl {
 public:
  using Loop = LoopThread<WorkerNode, LoopRequest>;

  WorkerImpl(Config config, std::shared_ptr<InputAccount> input,
             std::unique_ptr<Transport> transport);

  /// Handles are heard until the end: what is cancelled or resumed meanwhile lets us leave. When
  /// this returns every ticket has ended.
  ~WorkerImpl() {
    if (loop_.started()) (void)leave(kLastPatience);
    loop_.stop();
  }

  /// Before join().
  void set_stack_source(const std::function<std::string()>& source) {
    node_.activity().set_stack_source(source);
  }
  Status join();
  /// The outcome; none if it takes longer than that.
  std::optional<Status> leave(Duration patience);

  Loop& loop() { return loop_; }
  const Loop& loop() const { return loop_; }
  const Config& config() const { return config_; }
  Standing& standing() { return standing_; }
  bool tracing() { return node_.tracer().on(); }
  StepCount& steps() { return *step_count_; }
  /// It is done on a thread of its own, which is started for the first; what was posted is done
  /// before this ends.
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
  /// How many groups of this description there are now, with one more.
  std::uint32_t count_group(const std::string& description) {
    MutexLock lock(groups_mutex_);
    return ++groups_[description];
  }

 private:
  static constexpr Duration kLastPatience = 10s;

  // After work of a codec, which has ended before the loop does.
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
  std::atomic<bool> complained_{false};  // Of a report.
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
  Loop loop_{node_, clock_};  // Last: it ends before what it uses.
};

/// Why a call that waits can't be made here: it would wait for itself, or this is a forked child.
Status refusal(const WorkerImpl& impl, std::string_view what);
/// The worker leaves and ends; in a forked child it is left alone.
void end_or_forget(std::unique_ptr<WorkerImpl> impl);

}  // namespace stretto::detail
