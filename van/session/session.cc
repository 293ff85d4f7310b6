// SPDX-License-Identifier: Apache-2.0
// Frames are numbered as they leave; an incoming frame must be the next one.
#include "van/session/session.h"

#include <fmt/core.h>

#include "common/check.h"

namespace stretto {

void Session::stamp(wire::Header& header, bool control, bool push_ends) const {
  header.sequence = sent_ + 1;
  header.credit = owed_.taken_bytes();
  header.received = outlives() ? received_ : 0;
  if (!control) header.acked = owed_.applied();
  header.push_sequence = push_ends ? pushes_ + 1 : 0;
}

void Session::note_sent(const wire::Header& header, const Buffer& payload, std::uint64_t round) {
  STRETTO_CHECK(header.sequence == sent_ + 1);
  sent_ = header.sequence;
  if (header.kind != wire::Kind::kCredit) owing_sent_ = sent_;
  owed_.note_told(header);
  if (outlives()) kept_.add(header, payload);
  if (kept_.too_many()) give_name_up();  // The peer acknowledges nothing.
  if (header.push_sequence == 0) return;
  STRETTO_CHECK(header.push_sequence == pushes_ + 1);
  pushes_ = header.push_sequence;
  unacked_.emplace_back(header.push_sequence, wire::PushTag{header.key, round});
}

Status Session::check_order(const wire::Header& header) const {
  if (header.sequence == received_ + 1) return {};
  return {Code::kLinkBroken, fmt::format("frame {} came after frame {}: frames were lost",
                                         header.sequence, received_)};
}

Status Session::check_told(const wire::Header& header) const {
  if (header.acked > pushes_) {
    return {Code::kMalformed,
            fmt::format("{} pushes are acked, {} were sent", header.acked, pushes_)};
  }
  if (outlives() && header.received > sent_) {
    return {Code::kMalformed,
            fmt::format("{} frames are said to have come, {} were sent", header.received, sent_)};
  }
  if (!outlives() || header.received == 0) return {};
  const std::uint64_t creditable = kept_.creditable_through(header.received);
  if (header.credit > creditable) {
    return {Code::kMalformed,
            fmt::format("{} bytes are credited, but the {} frames that are said to have come hold "
                        "{}: a frame that is credited must be told as received",
                        header.credit, header.received, creditable)};
  }
  return {};
}

void Session::give_name_up() {
  name_ = 0;
  kept_.clear();
}

bool Session::note_received(const wire::Header& header) {
  STRETTO_CHECK(header.sequence == received_ + 1);
  received_ = header.sequence;
  // The peer takes data but acknowledges no frames: it has dropped the session's name.
  if (outlives() && header.received == 0 && header.credit > kept_.creditable_through(0)) {
    give_name_up();
  }
  if (outlives() && header.received > far_received_) {
    far_received_ = header.received;
    kept_.drop_through(far_received_);
  }
  return header.credit != std::exchange(heard_credit_, header.credit);
}

Status Session::take_over(std::uint64_t far_received) {
  if (far_received < far_received_ || far_received > sent_) {
    return {Code::kMalformed,
            fmt::format("a new link's far end says that {} frames of the session have come, wanted "
                        "{} to {}",
                        far_received, far_received_, sent_)};
  }
  far_received_ = far_received;
  kept_.drop_through(far_received);
  STRETTO_CHECK(kept_.size() == sent_ - far_received);
  awaited_ = owing_sent_;
  kept_.rewind();
  owed_.forget_told();
  return {};
}

// Acks of a control frame are those of the time it was queued.
const RetransmitBuffer::Kept* Session::next_again() {
  RetransmitBuffer::Kept* kept = kept_.next();
  if (kept == nullptr) return nullptr;
  wire::Header& header = kept->header;
  header.credit = owed_.taken_bytes();
  header.received = received_;
  const bool control = header.kind == wire::Kind::kControl || header.kind == wire::Kind::kCredit;
  if (!control) header.acked = owed_.applied();
  return kept;
}

void Session::sent_again(const wire::Header& header) {
  kept_.sent_again();
  owed_.note_told(header);
}

std::optional<wire::PushTag> Session::take_acked(std::uint64_t acked) {
  if (unacked_.empty() || unacked_.front().first > acked) return std::nullopt;
  const wire::PushTag push = unacked_.front().second;
  unacked_.pop_front();
  return push;
}

}  // namespace stretto
