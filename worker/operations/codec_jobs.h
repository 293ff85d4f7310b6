// SPDX-License-Identifier: Apache-2.0
// CodecJobs: work that is with a codec. A contribution is encoded before its frame is queued, and a
// value is decoded before its part is done; meanwhile the part is busy, so nothing overtakes.
// Encodings take memory, so an operation has few at a time: more follow as the peer takes them.
#pragma once

#include <functional>
#include <memory>

#include "common/clock.h"
#include "observe/trace/trace.h"
#include "worker/operations/codec_executor.h"
#include "worker/operations/tensor_table.h"

namespace stretto {

/// Thread: loop.
class CodecJobs {
 public:
  /// Callbacks to the owner.
  struct Ways {
    std::function<Buffer(std::size_t)> allocate;  ///< Memory that frames are best sent from.
    std::shared_ptr<Waker> waker;                 ///< The loop's, for ends of leases.
    /// A contribution is encoded, and must be sent.
    std::function<void(TensorState&, const wire::PushFrame&, const OperationPtr&, Buffer)> encoded;
    /// A value is in its operation's target.
    std::function<void(TensorState&, const wire::ValueFrame&)> decoded;
  };

  CodecJobs(const Clock& clock, std::unique_ptr<CodecExecutor> coder, Ways ways)
      : clock_(clock), coder_(std::move(coder)), ways_(std::move(ways)) {}

  /// Traces work there. It outlives this.
  void set_tracer(Tracer* tracer) { tracer_ = tracer; }
  /// Memory that one operation may take for encodings which the peer has not taken; a single part
  /// may take more. Per operation, so that none waits for a less urgent or paused one.
  void set_most_encoded(std::size_t bytes) { most_encoded_ = bytes; }

  /// Encodes the operation's contribution to a part, when there is room; leases it until then.
  void encode(TensorState& tensor, const wire::PushFrame& push, const OperationPtr& operation);
  /// The peer has taken or answered the part's contribution: the next one may be encoded.
  void free(TensorState& tensor, std::uint32_t part) {
    if (tensor.parts[part].codec.encoded_bytes > 0) make_room(tensor, part);
  }
  /// Why this is no valid value of the part, or ok.
  static Status check(const TensorState& tensor, const wire::ValueFrame& value,
                      const Buffer& payload);
  /// Decodes a value that has passed check() into the memory of its operation, which is leased
  /// until that is done.
  void decode(TensorState& tensor, const wire::ValueFrame& value, const Buffer& payload);

  /// Begins no further work of this operation.
  void discard(Operation& operation);
  /// Begins no further work. When this returns, no codec reads the users' memory.
  void stop() { coder_->stop(); }

 private:
  /// When a codec began and ended its work; set on the thread that does the work.
  struct Worked {
    Time begin;
    Time end;
  };
  void make_room(TensorState& tensor, std::uint32_t part);
  void encode_more(TensorState& tensor, const OperationPtr& operation);
  void encode_part(TensorState& tensor, const wire::PushFrame& push, const OperationPtr& operation);
  void note(const TensorState& tensor, const wire::Header& header, const Worked& worked) const;

  const Clock& clock_;
  Tracer* tracer_ = nullptr;
  std::unique_ptr<CodecExecutor> coder_;
  Ways ways_;
  std::size_t most_encoded_ = 4 << 20;  // Milliseconds of a fast link, and of the pool's work.
};

}  // namespace stretto
