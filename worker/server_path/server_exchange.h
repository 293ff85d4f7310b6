// SPDX-License-Identifier: Apache-2.0
// ServerExchange: tensors that are exchanged through servers: frames out and in. PartState decides
// a part's next action; CodecJobs has the work of codecs.
#pragma once

#include <memory>

#include "common/clock.h"
#include "observe/trace/trace.h"
#include "van/engine/van.h"
#include "worker/operations/codec_jobs.h"
#include "worker/operations/exchange_backend.h"
#include "worker/server_path/recovery_responder.h"

namespace stretto {

/// Thread: loop.
class ServerExchange final : public ExchangeBackend {
 public:
  /// All outlive this.
  ServerExchange(Van& van, const Clock& clock, Tensors& tensors,
                 std::unique_ptr<CodecExecutor> coder, OperationEvents outcomes);

  /// Traces the work of codecs there. It outlives this.
  void set_tracer(Tracer* tracer);
  /// CodecJobs::set_most_encoded.
  void set_most_encoded(std::size_t bytes) { codings_.set_most_encoded(bytes); }
  /// When this returns no codec reads or writes the users' memory.
  void stop() { codings_.stop(); }

  Status refusal(const TensorState& tensor, const Operation& operation) const override;
  void begin(TensorState& tensor, const OperationPtr& operation) override;
  void advance(TensorState& tensor, const Operation& operation) override;
  void forget(Operation& operation) override { codings_.discard(operation); }
  void failed(const TensorState& tensor, const Status& why) override;

  RecoveryResponder& recalls() { return recalls_; }
  /// Parts of a tensor have moved to this link: retransmits what was in flight to their owner.
  void send_again(TensorState& tensor, LinkId link);

  void on_data(const wire::Header& header, const Buffer& payload);
  /// Where the value in this frame should be stored; empty if it is unwanted, or not known yet.
  std::span<std::byte> landing(const wire::Header& header);
  void on_acked(const wire::PushTag& push);
  /// The server's error about a part.
  void on_fault(const wire::Key& key, const Status& why);

 private:
  void advance(TensorState& tensor, std::uint32_t part, PartState::LaneName lane);
  void send(TensorState& tensor, std::uint32_t part, const OperationPtr& operation);
  void send_lane_again(TensorState& tensor, std::uint32_t part, PartState::LaneName lane);
  void send_frame(TensorState& tensor, std::uint32_t part, const OperationPtr& operation);
  void send_share(TensorState& tensor, const wire::PushFrame& push, const OperationPtr& operation);
  void post(const TensorState& tensor, const wire::Header& header, Buffer payload,
            const Operation& operation);
  void on_value(TensorState& tensor, const wire::ValueFrame& value, const Buffer& payload);
  void on_done(TensorState& tensor, const wire::DoneFrame& done);
  void take_value(TensorState& tensor, const wire::ValueFrame& value);
  void end_part(TensorState& tensor, std::uint32_t part, PartState::LaneName lane);

  Van& van_;
  Tensors& tensors_;
  Tracer* tracer_ = nullptr;
  CodecJobs codings_;
  RecoveryResponder recalls_;
  const OperationEvents outcomes_;
};

}  // namespace stretto
