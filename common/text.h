// SPDX-License-Identifier: Apache-2.0
// Text that came from outside (names of tensors, hosts and programs, errors of others), made fit to
// be shown: whoever reads a log or a terminal must not take it for anything else.
#pragma once

#include <string>
#include <string_view>

namespace stretto {

enum class Lines : bool { kEscaped, kKept };

/// `text` as UTF-8 without control characters: these, and bytes that are no UTF-8, become \n, \t or
/// \x1b. So it is one line, unless lines are kept, and no terminal obeys it. Thread: any.
std::string printable(std::string_view text, Lines lines = Lines::kEscaped);

/// Its first `bytes`, and "..." if that is not all.
std::string shortened(std::string_view text, std::size_t bytes);

}  // namespace stretto
