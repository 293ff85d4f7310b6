// SPDX-License-Identifier: Apache-2.0
// PeerPartRef: one part of a tensor that is exchanged among workers: where the bytes of its open
// round are, and which operation they belong to. It sends nothing.
#pragma once

#include <memory>
#include <span>

#include "van/wire/frame_views.h"
#include "worker/peer_state/peer_tensor.h"

namespace stretto {

/// A part of a tensor, and what is known of it. Thread: loop.
struct PeerPartRef {
  TensorState& tensor;
  PeerTensor& known;
  std::uint32_t part;

  PeerPart& state() const { return known.parts[part]; }
  QuorumPart& closing() const { return known.closing[part]; }
  HostPart& host() const { return known.host[part]; }
  /// The operation that takes part in the last begun round, or will; or null.
  const OperationPtr& current() const { return tensor.parts[part].current(PartState::kShares); }
  /// The operation of the open round, or null: a round may be redone after its own operation has
  /// ended.
  OperationPtr operation() const {
    return state().rounds.begun() == state().rounds.round() ? current() : nullptr;
  }

  /// Begins a round of the current operation. In an elastic job its sum is made in separate memory:
  /// it may have to be resent after the operation has ended, and frames that are not wanted any
  /// more still read it.
  void begin_sum() const;
  /// At the root: makes the value of all contributions.
  void make_value() const;
  /// The bytes to send up, and those to send down. The waker is notified when the last lease on the
  /// operation's memory ends.
  Buffer sum_to_send(const std::shared_ptr<Waker>& waker) const;
  Buffer value_to_send(const std::shared_ptr<Waker>& waker) const;
  /// Ends the current operation, which has the value, and returns it.
  OperationPtr end_operation() const;
  /// Where the value in this frame, of the worker at this place, should be stored; empty if it is
  /// unwanted, or not known yet.
  std::span<std::byte> landing(collective::Place from, const wire::Header& header) const;
  /// kMalformed if the frame has a different size than the part.
  Status check_bytes(const wire::Header& header, std::size_t payload_bytes) const;
  /// An error for the user that names the worker at this place as the cause.
  Status blame(collective::Place from, const Status& why) const;
  /// kMismatch if the frame's sender has made another call than this operation, which may be null.
  Status check_call(collective::Place from, const wire::ReduceFrame& up,
                    const OperationPtr& taking) const;
};

}  // namespace stretto
