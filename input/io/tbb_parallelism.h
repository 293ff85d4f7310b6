// SPDX-License-Identifier: Apache-2.0
// oneTBB starts as many threads as there are processors. The reader's threads mostly wait for a
// device or a user's function, so MoreThreads permits more while it exists. TBB applies the least
// permission, so all instances permit the same number. Pools run PoolCalls.
#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace stretto::input {

/// Most threads of one pool.
inline constexpr int kMostPoolThreads = 64;

/// Thread: any.
class MoreThreads {
 private:
  tbb::global_control permitted_{tbb::global_control::max_allowed_parallelism,
                                 kMostPoolThreads + 1};
};

/// `object->work()`, for the queue of an arena. work() takes its item from the object under a
/// mutex. ThreadSanitizer must not check the read of the pointer: it does not see how oneTBB's
/// library passes the pointer between threads.
template <typename Object, void (Object::*work)()>
struct PoolCall {
  Object* object = nullptr;
  __attribute__((no_sanitize("thread"))) void operator()() const { (object->*work)(); }
};

}  // namespace stretto::input
