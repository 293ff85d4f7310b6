// SPDX-License-Identifier: Apache-2.0
// oneTBB starts as many threads as there are processors. Ours mostly wait, for a device or for a
// user's function, so more are permitted while one of these exists. TBB heeds the least of all such
// permissions, so all of ours say the same. What is handed to them is a PoolCall.
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

/// `object->work()`, to be enqueued in an arena. What it works on, it takes from the object under a
/// mutex. ThreadSanitizer is not to judge how the pointer itself is read: oneTBB hands it over in
/// its library, where it does not see that.
template <typename Object, void (Object::*work)()>
struct PoolCall {
  Object* object = nullptr;
  __attribute__((no_sanitize("thread"))) void operator()() const { (object->*work)(); }
};

}  // namespace stretto::input
