// SPDX-License-Identifier: Apache-2.0
// Codecs at the worker: what one part remembers, and where the work is done. Encoding a part takes
// about as long as sending it on a fast link, so large ones leave the loop's thread.
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
  /// Encodes a share of this round, with momentum and what is owed from earlier ones.
  void encode(std::span<const std::byte> share, std::uint64_t round, std::span<std::byte> out);
  /// Why this is no value of ours, or ok.
  Status check(Codec codec, std::size_t bytes, const Buffer& encoded) const;
  /// What has passed check() into `target`, of any alignment.
  void decode(std::span<const std::byte> encoded, std::span<std::byte> target) const;
  /// A broadcast sets the tensor anew: nothing is owed any more.
  void reset() { encoder_.reset(); }

 private:
  CodecSpec spec_;
  ops::PartRound what_;
  Rank rank_;
  ops::PartEncoder encoder_;
};

/// Where codecs run: here, on the caller's thread, or in what derives from it. Thread: loop.
class CodecExecutor {
 public:
  using Work = std::function<void()>;
  struct Piece {
    std::uint64_t operation = 0;  ///< Whose it is.
    std::size_t bytes = 0;        ///< That it goes through.
    Urgency urgency = {};
  };

  CodecExecutor() = default;
  CodecExecutor(const CodecExecutor&) = delete;
  CodecExecutor& operator=(const CodecExecutor&) = delete;
  virtual ~CodecExecutor() = default;
  /// Runs `work` on some thread, and then `then` on the loop. What is more urgent may be begun
  /// before what was given earlier.
  virtual void run(const Piece& piece, const Work& work, const Work& then);
  /// Drops what has not been begun of this operation: neither `work` nor `then` will run.
  virtual void discard(std::uint64_t operation);
  /// The end: drops all that has not been begun, and waits for what has. No `work` runs afterwards,
  /// and no `then` that has not been given to the loop.
  virtual void stop() {}
};

/// Runs large pieces of work on threads of its own, which start with the first of them. `post` runs
/// something on the loop, from any thread; the destructor waits until all work is done.
std::unique_ptr<CodecExecutor> make_pool_coder(std::function<void(CodecExecutor::Work)> post);

}  // namespace stretto
