// SPDX-License-Identifier: Apache-2.0
// A reader with a given backend instead of the configured one: for tests of a slow device.
#pragma once

#include <memory>

#include "input/io/backend.h"

namespace stretto::input {

/// As Reader::open, but ignores the option `method`.
Result<Reader> open_reader(Options options, std::unique_ptr<Backend> backend);

}  // namespace stretto::input
