// SPDX-License-Identifier: Apache-2.0
// One end of a connection between a launcher and an agent: frames in and out over a pair of pipes
// or a socket, without blocking.
#pragma once

#include <functional>
#include <string>

#include "common/descriptor.h"
#include "tools/launch/process/poller.h"
#include "tools/launch/protocol/agent_protocol.h"

namespace stretto::launch {

/// Thread: loop.
class AgentLink {
 public:
  using OnFrame = std::function<void(const AgentFrame&)>;
  /// `why` is ok if the peer has closed.
  using OnClosed = std::function<void(const Status& why)>;

  /// `in` and `out` become non-blocking; for a socket `out` is not open. Watches from start() on.
  /// `greeted`, `most`: see AgentFrameReader.
  AgentLink(Poller& poller, Descriptor in, Descriptor out, bool greeted,
            std::size_t most = AgentFrameReader::kMaxFrame);
  ~AgentLink();
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  /// Either callback may close the link, and neither may destroy it. A new owner of the link calls
  /// start() again, with its own callbacks.
  bool start(OnFrame on_frame, OnClosed on_closed);
  void send(const AgentFrame& frame) { send_bytes(encoded(frame)); }
  void send_bytes(std::string_view bytes);
  /// True once everything has been handed to the kernel.
  bool sent() const { return queue_.empty(); }
  bool is_open() const { return in_.is_open(); }
  /// Stops reading and sending, without a callback.
  void close();
  std::string take_noise() { return reader_.take_noise(); }

 private:
  void read();
  void write();
  void end(const Status& why);
  int out() const { return out_.is_open() ? out_.get() : in_.get(); }
  void watch_for_room(bool wanted);

  Poller& poller_;
  Descriptor in_;
  Descriptor out_;
  Descriptor out_watch_;  // A duplicate, as the Poller watches a socket's own number for reading.
  AgentFrameReader reader_;
  OnFrame on_frame_;
  OnClosed on_closed_;
  std::string queue_;
  bool waiting_for_room_ = false;
};

}  // namespace stretto::launch
