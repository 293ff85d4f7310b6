// SPDX-License-Identifier: Apache-2.0
// Words for statuses, and the one line that a failed process ends with.
#include "stretto/status.h"

#include <fmt/core.h>

#include <cstdio>

#include "common/log.h"
#include "common/program_failed.h"
#include "common/text.h"

namespace stretto {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::kOk:
      return "Ok";
    case Code::kInvalidArgument:
      return "InvalidArgument";
    case Code::kMismatch:
      return "Mismatch";
    case Code::kTimeout:
      return "Timeout";
    case Code::kRendezvousTimeout:
      return "RendezvousTimeout";
    case Code::kRefused:
      return "Refused";
    case Code::kPeerLost:
      return "PeerLost";
    case Code::kServerLost:
      return "ServerLost";
    case Code::kSchedulerLost:
      return "SchedulerLost";
    case Code::kLinkBroken:
      return "LinkBroken";
    case Code::kMalformed:
      return "Malformed";
    case Code::kUnsupported:
      return "Unsupported";
    case Code::kResource:
      return "Resource";
    case Code::kCancelled:
      return "Cancelled";
    case Code::kNetwork:
      return "Network";
    case Code::kMembersChanged:
      return "MembersChanged";
    case Code::kNotFinite:
      return "NotFinite";
    case Code::kInterrupted:
      return "Interrupted";
  }
  return code == kProgramFailed ? "ProgramFailed" : "Unknown";
}

const Status::Words& Status::words() const {
  static const Words kNone;
  return words_ ? *words_ : kNone;
}

Status Status::with_peer(std::string_view peer) && {
  if (!words_) words_ = std::make_unique<Words>();
  if (words_->peer.empty()) words_->peer = peer;
  return std::move(*this);
}

Status Status::with_operation(std::string_view operation) && {
  if (!words_) words_ = std::make_unique<Words>();
  if (words_->operation.empty()) words_->operation = operation;
  return std::move(*this);
}

std::string Status::text() const {
  if (ok()) return "Ok";
  return fmt::format("{}: {}", name_of(code()), printable(cause()));
}

namespace {

std::string field(std::string_view text) { return text.empty() ? "-" : printable(text); }

}  // namespace

std::string Status::error_line(std::string_view role, std::int64_t rank) const {
  return fmt::format("ERROR {} role={} rank={} peer={} op={} cause={}", name_of(code()), role,
                     rank < 0 ? std::string("-") : std::to_string(rank), field(peer()),
                     field(operation()), field(cause()));
}

void Status::or_exit() const {
  if (ok()) return;
  const Identity who = log_identity();
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", error_line(who.role, who.rank).c_str());
  std::exit(1);
}

}  // namespace stretto
