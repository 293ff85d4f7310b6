// SPDX-License-Identifier: Apache-2.0
// What a worker itself holds and gives to a checkpoint: bytes by a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto {

/// Which workers hold what is attached, and so which of them write it.
enum class Held : std::uint8_t {
  kByEach,   ///< Each its own, such as random states: those of all are saved.
  kAlike,    ///< All the same, such as a model: each worker writes a stripe. If they are not the
             ///< same after all, those of the worker of rank 0 are saved, and the scheduler warns.
  kByFirst,  ///< Those of the worker of rank 0 are saved.
};

struct Attachment {
  std::string name;  ///< 1 to 1,100 bytes. Once among those that all hold, once among the others.
  std::span<const std::byte> bytes;  ///< Must not change until the call returns.
  Held held = Held::kByEach;
  /// A tensor's, for programs that read checkpoints without this one; none: it is bytes.
  std::optional<Dtype> dtype = std::nullopt;
  std::string shape = "";  ///< Such as "3x7"; empty: one dimension.
};

/// What a checkpoint has of attachments.
struct Attached {
  std::string name;
  std::int64_t rank = -1;  ///< Of the worker whose own it was; -1: it is of all.
  std::uint64_t bytes = 0;
  std::optional<Dtype> dtype = std::nullopt;
  std::string shape = "";
};

}  // namespace stretto
#pragma GCC visibility pop
