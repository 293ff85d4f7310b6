// SPDX-License-Identifier: Apache-2.0
// A reader with another way to storage than the options name: for tests of a device that is slow.
#pragma once

#include <memory>

#include "input/io/backend.h"

namespace stretto::input {

/// As Reader::open, but for `method`.
Result<Reader> open_reader(Options options, std::unique_ptr<Backend> backend);

}  // namespace stretto::input
