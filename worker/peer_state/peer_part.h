// SPDX-License-Identifier: Apache-2.0
// PeerPartRef: one part of a tensor that is exchanged among workers: where the bytes of its open
// round are, and whose they are. It sends nothing.
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
  /// The operation that takes part in the round that was begun last, or will; or null.
  const OperationPtr& current() const { return tensor.parts[part].current(PartState::kShares); }
  /// The one that takes part in its open round, or null: a round may be made again after its own
  /// is over.
  OperationPtr operation() const {
    return state().rounds.begun() == state().rounds.round() ? current() : nullptr;
  }

  /// A round begins in which the current operation takes part. In an elastic job its sum is made in
  /// memory of its own: what was sent may have to be sent once more when the operation is over, and
  /// is read by frames that nobody wants any more.
  void begin_sum() const;
  /// At the root, of all contributions.
  void make_value() const;
  /// The bytes that go up, and those that go down. The waker is told when the last lease on the
  /// operation's memory ends.
  Buffer sum_to_send(const std::shared_ptr<Waker>& waker) const;
  Buffer value_to_send(const std::shared_ptr<Waker>& waker) const;
  /// The current operation has the value; it is not the current one any more.
  OperationPtr end_operation() const;
  /// Where the value in the frame of this header, of the worker at this place, is wanted; empty if
  /// it is not, or not yet known.
  std::span<std::byte> landing(collective::Place from, const wire::Header& header) const;
  /// kMalformed if the frame has other bytes than the part's.
  Status check_bytes(const wire::Header& header, std::size_t payload_bytes) const;
  /// What is wrong with what the worker at this place sent, for the user.
  Status blame(collective::Place from, const Status& why) const;
  /// kMismatch if what the frame's sender calls is another call than that of this operation, which
  /// may be null.
  Status check_call(collective::Place from, const wire::ReduceFrame& up,
                    const OperationPtr& taking) const;
};

}  // namespace stretto
