// SPDX-License-Identifier: Apache-2.0
// CodecJobs: what is with its codec. A share is encoded before its frame is queued, and a value is
// decoded before its part is done; meanwhile the part is busy, so nothing overtakes. Encodings take
// memory, so an operation has few at a time: the next ones are made as the far end takes them.
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
  /// What is asked of the owner.
  struct Ways {
    std::function<Buffer(std::size_t)> allocate;  ///< Memory that frames are best sent from.
    std::shared_ptr<Waker> waker;                 ///< Of the loop, when leases end.
    /// A share is encoded: it is to be sent.
    std::function<void(TensorState&, const wire::PushFrame&, const OperationPtr&, Buffer)> encoded;
    /// A value is in its operation's target.
    std::function<void(TensorState&, const wire::ValueFrame&)> decoded;
  };

  CodecJobs(const Clock& clock, std::unique_ptr<CodecExecutor> coder, Ways ways)
      : clock_(clock), coder_(std::move(coder)), ways_(std::move(ways)) {}

  /// Work is noted there. It outlives this.
  void set_tracer(Tracer* tracer) { tracer_ = tracer; }
  /// Memory that one operation may take for encodings which the far end has not taken; a part
  /// alone may take more. Of each operation, so that none waits for what is less urgent, or paused.
  void set_most_encoded(std::size_t bytes) { most_encoded_ = bytes; }

  /// Encodes the operation's share of a part, when there is room. Its memory is leased until then.
  void encode(TensorState& tensor, const wire::PushFrame& push, const OperationPtr& operation);
  /// The far end has taken the part's share, or answered it: the next one may be encoded.
  void free(TensorState& tensor, std::uint32_t part) {
    if (tensor.parts[part].codec.encoded_bytes > 0) make_room(tensor, part);
  }
  /// Why this is no value of the part's, or ok.
  static Status check(const TensorState& tensor, const wire::ValueFrame& value,
                      const Buffer& payload);
  /// Decodes what has passed check() into the memory of the operation that wants it, which is
  /// leased until that is done.
  void decode(TensorState& tensor, const wire::ValueFrame& value, const Buffer& payload);

  /// Nothing more of this operation is begun.
  void discard(Operation& operation);
  /// Nothing more is begun, and nobody reads the users' memory when this returns.
  void stop() { coder_->stop(); }

 private:
  /// Since when a codec works, and that it has done so; on the thread that does the work.
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
