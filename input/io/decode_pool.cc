// SPDX-License-Identifier: Apache-2.0
// TBB cannot resize an arena, so the arena is large and a counter limits the active threads.
#include "input/io/decode_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace stretto::input {
namespace {

std::uint32_t bounded(std::uint32_t threads) { return std::clamp(threads, 1U, kMostDecoders); }

// The user's function may throw; Stretto's own functions do not.
Result<std::any> decoded(const Decode& decode, const Sample& sample) {
  try {
    return decode(sample);
  } catch (const std::exception& error) {
    return Status(Code::kMalformed, fmt::format("decoding it failed: {}", error.what()));
  } catch (...) {
    return Status(Code::kMalformed, "decoding it failed by something that is no std::exception");
  }
}

}  // namespace

DecodePool::DecodePool(Decode decode, std::uint32_t threads, const Clock& clock,
                       std::function<void()> ended)
    : decode_(std::move(decode)),
      clock_(clock),
      ended_(std::move(ended)),
      threads_(bounded(threads)),
      arena_(kMostPoolThreads, 0) {}

DecodePool::~DecodePool() {
  MutexLock lock(mutex_);
  waiting_.clear();
  while (working_ > 0) idle_.wait(mutex_);
}

void DecodePool::submit(std::uint64_t tag, Sample sample) {
  {
    MutexLock lock(mutex_);
    waiting_.push_back({tag, std::move(sample)});
  }
  start();
}

void DecodePool::set_threads(std::uint32_t threads) {
  {
    MutexLock lock(mutex_);
    if (threads_ == bounded(threads)) return;
    threads_ = bounded(threads);
  }
  start();
}

std::vector<DecodePool::Ended> DecodePool::take() {
  MutexLock lock(mutex_);
  return std::exchange(done_, {});
}

void DecodePool::start() {
  std::uint32_t more = 0;
  {
    MutexLock lock(mutex_);
    while (working_ < threads_ && more < waiting_.size()) {
      ++working_;
      ++more;
    }
  }
  for (; more > 0; --more) arena_.enqueue(PoolCall<DecodePool, &DecodePool::work>{this});
}

bool DecodePool::next(Job& job) {
  MutexLock lock(mutex_);
  if (waiting_.empty() || working_ > threads_) {
    --working_;
    idle_.notify_all();
    return false;
  }
  job = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

void DecodePool::work() {
  for (Job job; next(job);) {
    const Time begun = clock_.now();
    Result<std::any> result = decoded(decode_, job.sample);
    const Duration took = clock_.now() - begun;
    Status status = result.status();
    if (result.ok()) job.sample.decoded = *std::move(result);
    {
      MutexLock lock(mutex_);
      done_.push_back({job.tag, std::move(job.sample), std::move(status), took});
    }
    ended_();
  }
}

}  // namespace stretto::input
