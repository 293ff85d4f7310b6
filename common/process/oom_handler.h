// SPDX-License-Identifier: Apache-2.0
// What a process says that ends for want of memory where nobody can return an error: in a library
// that aborts then, in a thread of ours, or in a call of the user's that nobody guards.
#pragma once

namespace stretto {

/// From now on a process that dies of an exception that means a lack of memory, or that aborts
/// while there is none, first writes the line `ERROR Resource role= rank= ...`, and then ends as it
/// would have. Handlers of the user's for std::terminate and operator new stay in force behind
/// ours, and one for SIGABRT in place of it. Again: nothing. Thread: any.
void promise_last_words();

/// True if room for one thread's stack cannot be had now: a library that gave something up without
/// saying why may have lacked it. Async-signal-safe. Thread: any.
bool memory_is_short();

}  // namespace stretto
