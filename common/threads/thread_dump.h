// SPDX-License-Identifier: Apache-2.0
// What each thread of this process does in the kernel, in words, from /proc: for people who look
// at a process that stands still. It needs no signal, and no thread notices.
#pragma once

#include <string>

namespace stretto {

/// A line for each thread, of the first 64: its number, name, state, and what it waits in.
std::string threads_in_words();

}  // namespace stretto
