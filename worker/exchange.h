// SPDX-License-Identifier: Apache-2.0
// Exchange: frames of tensors in and out. What a part does next, PartState decides; which
// operations are in flight and how they end, Operations; what is with its codec, Codings; what
// changes when a caller does, Steering. Links and membership are WorkerNode's.
#pragma once

#include <algorithm>
#include <memory>

#include "common/clock.h"
#include "core/cut.h"
#include "observe/trace/trace.h"
#include "van/van.h"
#include "worker/codings.h"
#include "worker/operations.h"
#include "worker/staleness.h"
#include "worker/steering.h"
#include "worker/tensors.h"

namespace stretto {

/// What has been exchanged so far.
struct ExchangeProgress {
  std::uint64_t most_rounds = 0;     ///< Rounds pushed, of the part with most.
  std::uint64_t last_staleness = 0;  ///< Of the value that came last.
  StalenessCounts staleness;         ///< Of all values.
};

/// Thread: loop.
class Exchange {
 public:
  /// `tensors` are those that operations may be on; they, and the rest, outlive this.
  Exchange(Van& van, const Clock& clock, Tensors& tensors, Duration operation_timeout,
           std::unique_ptr<Coder> coder = std::make_unique<Coder>());

  /// Operations and the work of codecs are noted there. It outlives this.
  void set_tracer(Tracer* tracer);
  /// Codings::set_most_encoded.
  void set_most_encoded(std::size_t bytes) { codings_.set_most_encoded(bytes); }
  /// Operations::set_elsewhere.
  void set_elsewhere(const std::string& words) { operations_.set_elsewhere(words); }

  /// Begins an operation, or ends it at once with an error.
  void start(const OperationPtr& operation);
  /// The caller of an operation has changed their mind.
  void steer(const OperationPtr& operation, const detail::Change& change);

  void on_data(const wire::Header& header, const Buffer& payload);
  /// Where the value in the frame of this header is wanted; empty if it is not, or not yet known.
  std::span<std::byte> landing(const wire::Header& header);
  void on_acked(const wire::Key& key);
  /// What the server says of a part that it cannot give.
  void on_fault(const wire::Key& key, const Status& why);
  /// Ends everything of one tensor with an error; later operations on it fail the same way.
  void fail_tensor(std::uint32_t id, const Status& why);
  /// Ends everything: when this returns every ticket has ended. The Van must have been shut before,
  /// so that nobody but codecs, which this stops, reads the users' memory.
  void end_all(const Status& why);
  /// Ends what is past its deadline, and ended operations whose memory is free at last.
  void tick();

  const Operations& operations() const { return operations_; }
  const ExchangeProgress& progress() const { return progress_; }

 private:
  void advance(TensorState& tensor, std::uint32_t part, PartState::LaneName lane);
  void send(TensorState& tensor, std::uint32_t part, const OperationPtr& operation);
  void send_share(TensorState& tensor, const wire::PushFrame& push, const OperationPtr& operation);
  void post(const TensorState& tensor, const wire::Header& header, Buffer payload,
            const Operation& operation);
  void on_value(TensorState& tensor, const wire::ValueFrame& value, const Buffer& payload);
  void on_done(TensorState& tensor, const wire::DoneFrame& done);
  void take_value(TensorState& tensor, const wire::ValueFrame& value);
  void end_part(TensorState& tensor, std::uint32_t part, PartState::LaneName lane);
  void give_up(const OperationPtr& operation, const Status& why);

  Van& van_;
  const Clock& clock_;
  Tensors& tensors_;
  Tracer* tracer_ = nullptr;
  Operations operations_;
  Codings codings_;
  Steering steering_;
  ExchangeProgress progress_;
};

}  // namespace stretto
