// SPDX-License-Identifier: Apache-2.0
// pread in oneTBB's threads. TBB limits these to the number of processors by default. Here they
// mostly wait for a device, so more are allowed.
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <utility>

#include "common/mutex.h"
#include "input/io/backend.h"
#include "input/io/tbb_parallelism.h"

namespace stretto::input {
namespace {

/// Pending and completed reads. Thread: any. One mutex.
class Queue {
 public:
  void add(ReadRequest request) {
    MutexLock lock(mutex_);
    waiting_.push_back(std::move(request));
    ++in_flight_;
  }
  /// A pending read; there is one for each task.
  ReadRequest next() {
    MutexLock lock(mutex_);
    ReadRequest request = std::move(waiting_.front());
    waiting_.pop_front();
    return request;
  }
  void end(const Done& done) {
    MutexLock lock(mutex_);
    done_.push_back(done);
    --in_flight_;
    changed_.notify_all();  // Under the lock: the thread that is woken may destroy this.
  }
  void wake() {
    MutexLock lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  void wait(Time deadline, std::vector<Done>& done) {
    MutexLock lock(mutex_);
    while (done_.empty() && !woken_) {
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
    }
    woken_ = false;
    done.insert(done.end(), done_.begin(), done_.end());
    done_.clear();
  }
  void wait_for_all() {
    MutexLock lock(mutex_);
    while (in_flight_ > 0) changed_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::deque<ReadRequest> waiting_ GUARDED_BY(mutex_);
  std::vector<Done> done_ GUARDED_BY(mutex_);
  std::size_t in_flight_ GUARDED_BY(mutex_) = 0;
  bool woken_ GUARDED_BY(mutex_) = false;
};

Done read_now(const ReadRequest& request) {
  Done done{.tag = request.tag};
  done.error = request.file->open();
  while (done.error == 0) {
    const ssize_t count = ::pread(request.file->number(), request.into.data(), request.into.size(),
                                  static_cast<off_t>(request.offset));
    if (count >= 0) {
      done.bytes = static_cast<std::size_t>(count);
      break;
    }
    const bool again = errno == EINTR || (errno == EINVAL && request.file->refuse_direct());
    if (!again) done.error = errno;
  }
  return done;
}

class ThreadBackend final : public Backend {
 public:
  ThreadBackend() : arena_(kMostPoolThreads, 0) {}
  ~ThreadBackend() override { queue_.wait_for_all(); }

  std::string_view name() const override { return "threads"; }
  void submit(ReadRequest request) override {
    queue_.add(std::move(request));
    arena_.enqueue(PoolCall<ThreadBackend, &ThreadBackend::work>{this});
  }
  void wait(Time deadline, std::vector<Done>& done) override { queue_.wait(deadline, done); }
  void wake() override { queue_.wake(); }

 private:
  void work() { queue_.end(read_now(queue_.next())); }

  Queue queue_;
  MoreThreads permitted_;
  tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<Backend> open_threads() { return std::make_unique<ThreadBackend>(); }

}  // namespace stretto::input
