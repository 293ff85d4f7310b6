// SPDX-License-Identifier: Apache-2.0
// Describes the kernel state of each thread of this process, from /proc, to diagnose a stalled
// process. It sends no signal and does not disturb the threads.
#pragma once

#include <string>

namespace stretto {

/// A line for each of the first 64 threads: id, name, state and kernel wait channel.
std::string threads_in_words();

}  // namespace stretto
