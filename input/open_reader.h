// SPDX-License-Identifier: Apache-2.0
// A reader with another way to storage than the options name, and an account of its own: for tests
// that stand for several processes, or for a device that is slow.
#pragma once

#include <memory>

#include "common/input_account.h"
#include "input/backend.h"

namespace stretto::input {

/// As Reader::open, but for `method`. The account is for open() only.
Result<Reader> open_reader(Options options, std::unique_ptr<Backend> backend,
                           InputAccount& account);

}  // namespace stretto::input
