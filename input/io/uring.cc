// SPDX-License-Identifier: Apache-2.0
// The io_uring backend: opens and reads files without a thread for each request. An eventfd that
// the ring reads wakes the waiting thread.
#include <fcntl.h>
#include <fmt/core.h>
#include <liburing.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "common/check.h"
#include "common/mutex.h"
#include "input/io/backend.h"

namespace stretto::input {
namespace {

constexpr std::uint64_t kWakeTag = kMostDepth;  // Other tags are slot numbers.

// Held while a ring is mapped or unmapped. Another thread's next ring may reuse the addresses, and
// ThreadSanitizer does not see liburing's mapping system calls; it sees this mutex.
constinit Mutex mapping;

class Uring final : public Backend {
 public:
  Uring() = default;
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;
  ~Uring() override {
    if (!open_) return;
    // The kernel writes into this object until all reads have ended, including the eventfd's.
    std::vector<Done> ignored;
    closing_ = true;
    wake();
    while (free_.size() < slots_.size() || listening_) wait(Time::max(), ignored);
    const MutexLock lock(mapping);
    io_uring_queue_exit(&ring_);
  }

  /// 0, or the errno.
  int open() {
    bell_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
    if (!bell_.is_open()) return errno;
    const int error = map();
    if (error != 0) return -error;
    open_ = true;
    allow_workers();
    for (std::uint32_t slot = kMostDepth; slot > 0; --slot) free_.push_back(slot - 1);
    listen();
    return submit();
  }

  std::string_view name() const override { return "io_uring"; }

  void submit(ReadRequest request) override {
    STRETTO_CHECK(!free_.empty());
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = {std::move(request), false};
    prepare(slot);
    unflushed_ = true;
  }

  void wait(Time deadline, std::vector<Done>& done) override {
    const std::size_t before = done.size();
    bool woken = false;
    while (take(done, woken), done.size() == before && !woken) {
      const Time now = std::chrono::steady_clock::now();
      if (now >= deadline) break;
      // At most an hour, since a deadline may be Time::max().
      const auto bounded = std::min<Duration>(deadline - now, std::chrono::hours(1));
      __kernel_timespec limit{.tv_sec = bounded / 1s, .tv_nsec = (bounded % 1s).count()};
      io_uring_cqe* entry = nullptr;
      // Also submits prepared requests.
      (void)io_uring_submit_and_wait_timeout(&ring_, &entry, 1, &limit, nullptr);
      unflushed_ = false;
    }
    flush();
  }

  void flush() override {
    if (unflushed_) (void)submit();
  }

  void wake() override {
    const std::uint64_t one = 1;
    (void)!::write(bell_.get(), &one, sizeof one);
  }

 private:
  struct Slot {
    ReadRequest request;
    bool opening = false;
  };

  int map() {
    const MutexLock lock(mapping);
    return io_uring_queue_init(2 * kMostDepth, &ring_, 0);
  }

  // If a file system (often a network file system) can only block, the kernel reads in threads. Its
  // default of four per processor would limit the reads in flight. Kernels before 5.15 have no such
  // limit to raise.
  void allow_workers() {
    std::array<unsigned, 2> most{kMostDepth, 0};
    (void)io_uring_register_iowq_max_workers(&ring_, most.data());
  }

  int submit() {
    unflushed_ = false;
    const int result = io_uring_submit(&ring_);
    return result < 0 ? -result : 0;
  }

  io_uring_sqe* entry() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) {
      (void)submit();
      entry = io_uring_get_sqe(&ring_);
    }
    STRETTO_CHECK(entry != nullptr);  // The ring has two per slot.
    return entry;
  }

  void listen() {
    io_uring_sqe* reading = entry();
    io_uring_prep_read(reading, bell_.get(), &rings_, sizeof rings_, 0);
    io_uring_sqe_set_data64(reading, kWakeTag);
    unflushed_ = true;
    listening_ = true;
  }

  // Prepares the next step of a request: to open its file, or to read.
  void prepare(std::uint32_t number) {
    Slot& slot = slots_[number];
    const ReadRequest& request = slot.request;
    slot.opening = request.file->number() < 0;
    io_uring_sqe* next = entry();
    if (slot.opening) {
      io_uring_prep_openat(next, AT_FDCWD, request.file->path().c_str(), request.file->flags(), 0);
    } else {
      io_uring_prep_read(next, request.file->number(), request.into.data(),
                         static_cast<unsigned>(request.into.size()), request.offset);
    }
    io_uring_sqe_set_data64(next, number);
    unflushed_ = true;
  }

  // Handles every transition of a request: opened, refused, or complete.
  void step(std::uint32_t number, int result, std::vector<Done>& done) {
    Slot& slot = slots_[number];
    OpenFile& file = *slot.request.file;
    const bool again =
        result == -EINTR || result == -EAGAIN || (result == -EINVAL && file.refuse_direct());
    if (slot.opening && result >= 0) file.adopt(result);
    if (again || (slot.opening && result >= 0)) return prepare(number);
    done.push_back({.tag = slot.request.tag,
                    .error = result < 0 ? -result : 0,
                    .bytes = result < 0 ? 0 : static_cast<std::size_t>(result)});
    slot = {};
    free_.push_back(number);
  }

  void take(std::vector<Done>& done, bool& woken) {
    io_uring_cqe* entry = nullptr;
    while (io_uring_peek_cqe(&ring_, &entry) == 0) {
      const std::uint64_t tag = io_uring_cqe_get_data64(entry);
      const int result = entry->res;
      io_uring_cqe_seen(&ring_, entry);
      if (tag == kWakeTag) {
        woken = true;
        listening_ = false;
        if (!closing_) listen();
      } else {
        step(static_cast<std::uint32_t>(tag), result, done);
      }
    }
  }

  bool open_ = false;
  bool unflushed_ = false;
  bool listening_ = false;
  bool closing_ = false;
  io_uring ring_{};
  Descriptor bell_;
  std::uint64_t rings_ = 0;
  std::array<Slot, kMostDepth> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_uring() {
  auto uring = std::make_unique<Uring>();
  const int error = uring->open();
  if (error != 0) {
    return Status(Code::kUnsupported, fmt::format("the kernel refuses io_uring: {}; choose threads",
                                                  std::strerror(error)));
  }
  return std::unique_ptr<Backend>(std::move(uring));
}

}  // namespace stretto::input
