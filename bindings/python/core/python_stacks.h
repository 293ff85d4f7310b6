// SPDX-License-Identifier: Apache-2.0
// The Python stacks of all threads, for those who look at a program that stands still.
#pragma once

#include <string>

namespace stretto::python {

/// As faulthandler writes them, without the GIL: whoever holds it may be what stands still. A frame
/// that changes meanwhile may be told wrongly. Thread: any.
std::string python_stacks();

}  // namespace stretto::python
