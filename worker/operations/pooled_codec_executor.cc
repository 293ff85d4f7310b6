// SPDX-License-Identifier: Apache-2.0
// The codec pool: a few threads, started with the first large piece of work, which take the most
// urgent work first. It has its own threads, since a library's pool is shared with the user's
// program and schedules them freely.
#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/mutex.h"
#include "worker/operations/codec_executor.h"

namespace stretto {
namespace {

constexpr std::size_t kLargeBytes = 16 << 10;  // Below, submitting costs more than the work.
constexpr unsigned kMostThreads = 4;           // They encode more than any link carries.

/// Thread: any.
class Workload {
 public:
  struct Entry {
    CodecExecutor::Piece piece;
    std::uint64_t order = 0;
    CodecExecutor::Work work;
    CodecExecutor::Work then;

    /// True if `other` goes first.
    bool operator<(const Entry& other) const {
      if (piece.urgency == other.piece.urgency) return order > other.order;
      return other.piece.urgency < piece.urgency;
    }
  };

  void add(Entry entry) {
    const MutexLock lock(mutex_);
    entry.order = ++orders_;
    heap_.push_back(std::move(entry));
    std::push_heap(heap_.begin(), heap_.end());
    changed_.notify_all();
  }
  /// Waits for an entry; false if there is none and will be none.
  bool take(Entry& entry) {
    mutex_.lock();
    while (heap_.empty() && !closed_) changed_.wait(mutex_);
    const bool found = !heap_.empty();
    if (found) {
      std::pop_heap(heap_.begin(), heap_.end());
      entry = std::move(heap_.back());
      heap_.pop_back();
    }
    mutex_.unlock();
    return found;
  }
  /// Takes all waiting work of an operation, for the caller to drop: that may free users' memory.
  std::vector<Entry> take_all_of(std::uint64_t operation) {
    const MutexLock lock(mutex_);
    const auto first = std::partition(heap_.begin(), heap_.end(), [operation](const Entry& entry) {
      return entry.piece.operation != operation;
    });
    std::vector<Entry> taken(std::make_move_iterator(first), std::make_move_iterator(heap_.end()));
    heap_.erase(first, heap_.end());
    std::make_heap(heap_.begin(), heap_.end());
    return taken;
  }
  /// Takes all waiting work, for the caller to drop.
  std::vector<Entry> take_all() {
    const MutexLock lock(mutex_);
    return std::exchange(heap_, {});
  }
  void close() {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<Entry> heap_ GUARDED_BY(mutex_);
  std::uint64_t orders_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
};

/// Thread: loop; its work runs on the pool's.
class PoolCoder final : public CodecExecutor {
 public:
  explicit PoolCoder(std::function<void(Work)> post) : post_(std::move(post)) {}
  ~PoolCoder() override { workload_.close(); }

  void run(const Piece& piece, const Work& work, const Work& then) override {
    if (piece.bytes < kLargeBytes) return CodecExecutor::run(piece, work, then);
    STRETTO_CHECK(!stopped_);
    if (threads_.empty()) start();
    workload_.add({.piece = piece, .work = work, .then = then});
  }
  void discard(std::uint64_t operation) override { workload_.take_all_of(operation); }
  void stop() override {
    stopped_ = true;
    workload_.take_all();
    workload_.close();
    threads_.clear();
  }

 private:
  void start() {
    const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        for (Workload::Entry entry; workload_.take(entry); entry = {}) {
          entry.work();
          post_(std::move(entry.then));
        }
      });
    }
  }

  std::function<void(Work)> post_;
  Workload workload_;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;  // Last: they end before what they use.
};

}  // namespace

std::unique_ptr<CodecExecutor> make_pool_coder(std::function<void(CodecExecutor::Work)> post) {
  return std::make_unique<PoolCoder>(std::move(post));
}

}  // namespace stretto
