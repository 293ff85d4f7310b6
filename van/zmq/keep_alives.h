// SPDX-License-Identifier: Apache-2.0
// KeepAlives: a few empty messages after the last frame of a link. Their bytes show the peer that
// an earlier frame has not arrived completely (ReceiveProgress).
#pragma once

namespace stretto::zmq {

/// The keep-alives of one link. Pure. Thread: loop.
class KeepAlives {
 public:
  void note_frame() { left_ = kAfterFrames; }
  /// Asked at each look at the path: true if one should leave now.
  bool take() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  // Both ends check equally often, so the peer checks between two of them.
  static constexpr int kAfterFrames = 4;
  int left_ = 0;
};

}  // namespace stretto::zmq
