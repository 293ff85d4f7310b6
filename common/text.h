// SPDX-License-Identifier: Apache-2.0
// Makes outside text (names of tensors, hosts and programs, errors of others) safe to show, so that
// no reader of a log or terminal is misled.
#pragma once

#include <string>
#include <string_view>

namespace stretto {

enum class Lines : bool { kEscaped, kKept };

/// `text` as UTF-8 without control characters: these, and invalid UTF-8, become \n, \t or \x1b. So
/// it is one line, unless lines are kept, and contains no terminal commands. Thread: any.
std::string printable(std::string_view text, Lines lines = Lines::kEscaped);

/// Its first `bytes`, with "..." if it is longer.
std::string shortened(std::string_view text, std::size_t bytes);

}  // namespace stretto
