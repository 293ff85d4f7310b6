// SPDX-License-Identifier: Apache-2.0
// Frames are numbered as they leave; what comes must be the next one.
#include "van/session.h"

#include <fmt/format.h>

#include "common/check.h"

namespace stretto {

void Session::stamp(wire::Header& header, bool control, bool push_ends) const {
  header.sequence = sent_ + 1;
  header.credit = owed_.taken_bytes();
  if (!control) header.acked = owed_.applied();
  header.push_sequence = push_ends ? pushes_ + 1 : 0;
}

void Session::note_sent(const wire::Header& header) {
  STRETTO_CHECK(header.sequence == sent_ + 1);
  sent_ = header.sequence;
  owed_.note_told(header);
  if (header.push_sequence == 0) return;
  STRETTO_CHECK(header.push_sequence == pushes_ + 1);
  pushes_ = header.push_sequence;
  unacked_.emplace_back(header.push_sequence, header.key);
}

Status Session::check_order(const wire::Header& header) const {
  if (header.sequence == received_ + 1) return {};
  return {Code::kLinkBroken, fmt::format("frame {} came after frame {}: frames were lost",
                                         header.sequence, received_)};
}

Status Session::check_acks(const wire::Header& header) const {
  if (header.acked <= pushes_) return {};
  return {Code::kMalformed,
          fmt::format("{} pushes are acked, {} were sent", header.acked, pushes_)};
}

bool Session::note_received(const wire::Header& header) {
  STRETTO_CHECK(header.sequence == received_ + 1);
  received_ = header.sequence;
  return header.credit != std::exchange(heard_credit_, header.credit);
}

std::optional<wire::Key> Session::take_acked(std::uint64_t acked) {
  if (unacked_.empty() || unacked_.front().first > acked) return std::nullopt;
  const wire::Key key = unacked_.front().second;
  unacked_.pop_front();
  return key;
}

}  // namespace stretto
