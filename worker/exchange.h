// SPDX-License-Identifier: Apache-2.0
// Exchange: the worker's side of every tensor: which operation each part is busy with, what has
// come, what is next. It cuts operations into parts, queues their frames, and ends tickets; links
// and membership are WorkerNode's.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "van/messages.h"
#include "van/van.h"
#include "worker/operation.h"

namespace stretto {

/// Thread: loop.
class Exchange {
 public:
  Exchange(Van& van, const Clock& clock, Duration operation_timeout)
      : van_(van), clock_(clock), timeout_(operation_timeout), bell_(std::make_shared<Bell>(van)) {}
  ~Exchange() { bell_->silence(); }

  /// Makes a tensor known; `links` gives the link of each part's owner.
  void add_tensor(std::uint32_t id, const TensorSpec& spec, const Cut& cut,
                  std::vector<LinkId> links);
  /// The tensor's spec, or null.
  const TensorSpec* find(std::uint32_t id) const;
  const TensorSpec* find(std::string_view name, std::uint32_t* id) const;

  /// Begins an operation, or ends it at once with an error.
  void start(const std::shared_ptr<Operation>& operation);

  /// The caller of an operation has changed their mind.
  void steer(const std::shared_ptr<Operation>& operation, const detail::Change& change);

  void on_data(const wire::Header& header, const Buffer& payload);
  /// Where the value in the frame of this header is wanted; empty if it is not, or not yet known.
  std::span<std::byte> landing(const wire::Header& header);
  void on_acked(const wire::Key& key);
  /// Ends everything of one tensor with an error; later operations on it fail the same way.
  void fail_tensor(std::uint32_t id, const Status& why);
  /// Ends everything. Links must have been closed before, so that leases end.
  void fail_all(const Status& why);
  /// Ends what is past its deadline, and ended operations whose memory is free at last.
  void tick();
  Time next_due() const;

  /// True if nothing is under way.
  bool idle() const { return operations_.empty() && lingering_.empty(); }
  /// An ended operation's memory has been held for so long that only closing links can free it.
  bool stuck() const;
  std::size_t under_way() const { return operations_.size(); }

 private:
  /// How a lease that ends on another thread wakes the loop, as long as there is one. Thread: any.
  class Bell {
   public:
    explicit Bell(Van& van) : van_(&van) {}
    void ring() {
      MutexLock lock(mutex_);
      if (van_ != nullptr) van_->wake();
    }
    void silence() {
      MutexLock lock(mutex_);
      van_ = nullptr;
    }

   private:
    Mutex mutex_;
    Van* van_ GUARDED_BY(mutex_);
  };
  struct Part {
    LinkId link = 0;
    std::uint64_t rounds = 0;        // Shares of ours, sent.
    std::uint64_t last_version = 0;  // Of the last value that came.
    bool awaiting_done = false;      // A collected round that we pushed to is not known finished.
    std::shared_ptr<Operation> current;
    std::deque<std::shared_ptr<Operation>> waiting;
  };
  struct TensorState {
    TensorSpec spec;
    Cut cut;
    std::vector<Part> parts;
    Status failed;
  };
  struct Lingering {
    std::shared_ptr<Operation> operation;
    Status why;
    Time since;
  };

  void advance(TensorState& tensor, std::uint32_t id, std::uint32_t part);
  void send(const TensorState& tensor, std::uint32_t id, std::uint32_t part, Operation& operation);
  void on_value(TensorState& tensor, const wire::Header& header, const Buffer& payload);
  void end_part(TensorState& tensor, const wire::Key& key);
  void cancel(const std::shared_ptr<Operation>& operation);
  void end(const std::shared_ptr<Operation>& operation, const Status& status);
  Buffer lease(const std::shared_ptr<Operation>& operation, std::span<const std::byte> bytes);

  Van& van_;
  const Clock& clock_;
  Duration timeout_;
  std::shared_ptr<Bell> bell_;
  std::map<std::uint32_t, TensorState> tensors_;
  std::map<std::string, std::uint32_t, std::less<>> ids_;
  std::map<std::uint64_t, std::shared_ptr<Operation>> operations_;  // By age, so by deadline.
  std::vector<Lingering> lingering_;
  Time next_check_;  // Of the lingering.
  std::uint64_t next_id_ = 1;
};

}  // namespace stretto
