// SPDX-License-Identifier: Apache-2.0
// The last line of a process that ends for lack of memory where no code can return an error: in a
// library that aborts, in a thread of ours, or in an unguarded call of the user's.
#pragma once

namespace stretto {

/// Installs handlers: a process that ends by an exception for lack of memory, or that aborts
/// without free memory, first writes the line `ERROR Resource role= rank= ...`, and then ends as
/// before. User handlers for std::terminate and operator new run after ours; a user handler for
/// SIGABRT replaces ours. Repeated calls have no effect. Thread: any.
void promise_last_words();

/// True if memory for one thread's stack is not available now: a library that failed without a
/// cause may have lacked memory. Async-signal-safe. Thread: any.
bool memory_is_short();

}  // namespace stretto
