// SPDX-License-Identifier: Apache-2.0
// Attachment: named bytes of a worker's own that are saved in a checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto {

/// Which workers hold an attachment, and so which of them write it.
enum class Held : std::uint8_t {
  kByEach,   ///< Per worker, such as random states: all of them are saved.
  kAlike,    ///< Replicated, such as a model: each worker writes a stripe. If the copies differ,
             ///< rank 0's is saved, and the scheduler warns.
  kByFirst,  ///< Only rank 0's is saved.
};

struct Attachment {
  std::string name;  ///< 1 to 1,100 bytes. Unique among replicated ones, and among the others.
  std::span<const std::byte> bytes;  ///< Must not change until the call returns.
  Held held = Held::kByEach;
  /// A tensor's type, for programs that read checkpoints without this one; none: bytes.
  std::optional<Dtype> dtype = std::nullopt;
  std::string shape = "";  ///< Such as "3x7"; empty: one dimension.
};

/// An attachment in a checkpoint.
struct Attached {
  std::string name;
  std::int64_t rank = -1;  ///< Of the worker whose own it was; -1: it is of all.
  std::uint64_t bytes = 0;
  std::optional<Dtype> dtype = std::nullopt;
  std::string shape = "";
};

}  // namespace stretto
#pragma GCC visibility pop
