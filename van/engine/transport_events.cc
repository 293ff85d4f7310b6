// SPDX-License-Identifier: Apache-2.0
// Finds a frame's session, and applies the receiver's status to its link.
#include "van/engine/transport_events.h"

namespace stretto {
namespace {

constexpr std::size_t kBatchBytes = 16 << 10;  // Received before responses are sent.

}  // namespace

// On a link without a session.
void TransportEvents::on_answer(LinkId carrier, wire::HeaderView bytes, const Buffer& payload) {
  const auto ended = parts_.mender.on_answer(carrier, bytes, payload);
  if (ended) parts_.links.drop(ended->session, ended->why, handler_);
}

// Applies the receiver's status to the link, unless the handler has closed it.
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
  // Acks of small frames are batched up to a slice; the rest leaves at the end of the iteration.
  unanswered_bytes_ += wire::kHeaderBytes + bytes_taken;
  if (!at_once && unanswered_bytes_ < kBatchBytes) return;
  unanswered_bytes_ = 0;
  parts_.sender.pump(handler_);
}

}  // namespace stretto
