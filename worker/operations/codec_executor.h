// SPDX-License-Identifier: Apache-2.0
// Codecs at the worker: the state of one part, and where the work is done. Encoding a part takes
// about as long as sending it on a fast link, so large parts leave the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "common/memory/buffer.h"
#include "core/tensor_spec.h"
#include "ops/feedback.h"
#include "van/engine/van.h"

namespace stretto {

/// One part's encodings and decodings. Thread: one at a time; a part does one thing at a time.
class PartCoder {
 public:
  PartCoder(const TensorSpec& spec, std::uint32_t part, Rank rank);

  std::size_t encoded_bytes(std::size_t bytes) const;
  /// Encodes a contribution to this round, with momentum and error feedback of earlier rounds.
  void encode(std::span<const std::byte> share, std::uint64_t round, std::span<std::byte> out);
  /// Why this is no valid value, or ok.
  Status check(Codec codec, std::size_t bytes, const Buffer& encoded) const;
  /// Decodes a value that has passed check() into `target`, of any alignment.
  void decode(std::span<const std::byte> encoded, std::span<std::byte> target) const;
  /// A broadcast sets the tensor's value: clears the error feedback.
  void reset() { encoder_.reset(); }

 private:
  CodecSpec spec_;
  ops::PartRound what_;
  Rank rank_;
  ops::PartEncoder encoder_;
};

/// Runs codecs: here on the caller's thread, elsewhere in derived classes. Thread: loop.
class CodecExecutor {
 public:
  using Work = std::function<void()>;
  struct Piece {
    std::uint64_t operation = 0;  ///< The work's operation.
    std::size_t bytes = 0;        ///< The size of its input.
    Urgency urgency = {};
  };

  CodecExecutor() = default;
  CodecExecutor(const CodecExecutor&) = delete;
  CodecExecutor& operator=(const CodecExecutor&) = delete;
  virtual ~CodecExecutor() = default;
  /// Runs `work` on some thread, and then `then` on the loop. More urgent work may begin before
  /// earlier work.
  virtual void run(const Piece& piece, const Work& work, const Work& then);
  /// Drops work of this operation that has not begun: neither `work` nor `then` will run.
  virtual void discard(std::uint64_t operation);
  /// Drops all work that has not begun, and waits for the rest. Afterwards no `work` runs, and no
  /// `then` that has not been given to the loop.
  virtual void stop() {}
};

/// Runs large pieces of work on its own threads, which start with the first of them. `post` runs a
/// function on the loop, from any thread; the destructor waits until all work is done.
std::unique_ptr<CodecExecutor> make_pool_coder(std::function<void(CodecExecutor::Work)> post);

}  // namespace stretto
