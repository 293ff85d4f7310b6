// SPDX-License-Identifier: Apache-2.0
// Submits batches to libzmq, and handles frames that libzmq rejects.
#include "van/zmq/router_sender.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace stretto::zmq {
namespace {

constexpr Duration kOfferEvery = 1ms;

}  // namespace

Transport::Sent RouterSender::send(LinkId number, const wire::Header& header,
                                   const Buffer& payload) {
  using enum Transport::Sent;
  AcceptedLink* link = book_.find_link(number);
  if (link == nullptr || link->muted || link->ended) return kBroken;
  if (link->full) return kFull;
  if (FrameBatch::takes(payload)) {
    link->keep_alives.note_frame();
    link->batch.add(header, payload);
    if (!std::exchange(link->batched, true)) batched_.push_back(number);
    if (link->batch.full()) flush(*link);
    return link->ended ? kBroken : kTaken;
  }
  flush(*link);
  if (link->ended) return kBroken;
  if (link->full) return kFull;
  link->keep_alives.note_frame();
  const int error = send_frame(socket_, link->id, header, payload);
  return error == 0 ? kTaken : failed(*link, error);
}

// A failed allocation's exception leaves the list: the next call serves the rest.
void RouterSender::flush() {
  for (const LinkId number : batched_) {
    AcceptedLink* link = book_.find_link(number);
    if (link == nullptr) continue;
    flush(*link);
    link->batched = false;
  }
  batched_.clear();
}

void RouterSender::flush(AcceptedLink& link) {
  if (link.batch.empty() || link.full || link.ended) return;
  if (const int error = send_batch(socket_, link.id, link.batch); error != 0) failed(link, error);
}

Transport::Sent RouterSender::failed(AcceptedLink& link, int error) {
  using enum Transport::Sent;
  if (error == EAGAIN) {
    link.full = true;
    full_.push_back(link.link);
    return kFull;
  }
  book_.end(link,
            {Code::kLinkBroken, fmt::format("the connection from {} has ended", link.address)});
  return kBroken;
}

void RouterSender::offer_room(Transport::Sink& sink, Time now) {
  if (full_.empty()) return;
  if (now < next_offer_) return;
  next_offer_ = now + kOfferEvery;
  // Excludes links that callbacks add.
  for (std::size_t left = full_.size(); left > 0; --left) {
    AcceptedLink* link = book_.find_link(full_.front());
    full_.pop_front();
    if (link == nullptr) continue;
    link->full = false;
    if (link->muted || link->ended) continue;
    flush(*link);
    if (!link->full && !link->ended) sink.on_writable(link->link);
  }
}

Duration RouterSender::may_wait(Duration wait) const {
  return full_.empty() ? wait : std::min(wait, kOfferEvery);
}

}  // namespace stretto::zmq
