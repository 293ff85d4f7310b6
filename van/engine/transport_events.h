// SPDX-License-Identifier: Apache-2.0
// TransportEvents: dispatches the events of a transport's poll. An event of a link goes to the
// session that the link carries, or to the mender if it carries none yet. The receiver's status for
// a frame decides whether the link stays.
#pragma once

#include "van/engine/link_manager.h"
#include "van/engine/receiver.h"

namespace stretto {

/// One poll's events. Thread: loop.
class TransportEvents final : public Transport::Sink {
 public:
  struct Parts {
    LinkTable& lives;
    LinkManager& links;
    Reconnector& mender;
    Sender& sender;
    Receiver& receiver;
    FrameCounters& counters;
  };
  TransportEvents(const Parts& parts, FrameHandler& handler) : parts_(parts), handler_(handler) {}

  void on_link(LinkId carrier) override { parts_.links.accept(carrier); }
  void on_frame(LinkId carrier, wire::HeaderView bytes, Buffer payload) override;
  void on_broken(LinkId carrier, Status why) override {
    parts_.links.carrier_broke(carrier, why, handler_);
  }
  void on_writable(LinkId carrier) override {
    parts_.sender.writable(parts_.lives.carried_by(carrier).id);
  }

 private:
  void on_answer(LinkId carrier, wire::HeaderView bytes, const Buffer& payload);
  void judge(LinkId id, const Status& status);

  Parts parts_;
  FrameHandler& handler_;
  std::size_t unanswered_bytes_ = 0;  // Received since the last pump.
};

}  // namespace stretto
