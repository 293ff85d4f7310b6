// SPDX-License-Identifier: Apache-2.0
// A frame finds its session, and its link is judged by it.
#include "van/engine/transport_events.h"

namespace stretto {
namespace {

constexpr std::size_t kBatchBytes = 16 << 10;  // Taken before what they led to is sent.

}  // namespace

// On a link that carries no session.
void TransportEvents::on_answer(LinkId carrier, wire::HeaderView bytes, const Buffer& payload) {
  const auto ended = parts_.mender.on_answer(carrier, bytes, payload);
  if (ended) parts_.links.drop(ended->session, ended->why, handler_);
}

// What the receiver says of a frame decides on its link, unless the handler closed that.
void TransportEvents::judge(LinkId id, const Status& status) {
  if (status.code() == Code::kRefused) {
    parts_.links.refuse(id, status);
  } else if (!status.ok()) {
    ++parts_.counters.refused;
    LinkState* link = parts_.lives.find(id);
    if (link != nullptr) parts_.links.lose(id, *link, status, handler_);
  } else {
    parts_.mender.progressed(id);
  }
}

void TransportEvents::on_frame(LinkId carrier, wire::HeaderView bytes, Buffer payload) {
  auto [id, link] = parts_.lives.carried_by(carrier);
  if (link == nullptr) return on_answer(carrier, bytes, payload);
  if (link->closing) return;
  const std::size_t bytes_taken = payload.size();
  judge(id, parts_.receiver.receive(id, *link, bytes, std::move(payload), handler_));
  link = parts_.lives.find(id);  // Handlers close links.
  const bool at_once = link != nullptr && link->session.owed().credit_at_once();
  if (at_once) parts_.sender.settle(id, *link);
  // Small frames are answered together, once they make a slice; the last at the end of the turn.
  unanswered_bytes_ += wire::kHeaderBytes + bytes_taken;
  if (!at_once && unanswered_bytes_ < kBatchBytes) return;
  unanswered_bytes_ = 0;
  parts_.sender.pump(handler_);
}

}  // namespace stretto
