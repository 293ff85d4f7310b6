// SPDX-License-Identifier: Apache-2.0
// Sizes of pieces are checked here; the receiver checks numbers against its own state.
#include "van/control/state_decode.h"

#include <fmt/core.h>

#include "van/control/checkpoint_decode.h"
#include "van/control/control.pb.h"
#include "van/control/control_codec.h"

namespace stretto::control {
namespace {

Status unsound(std::string cause) { return {Code::kMalformed, std::move(cause)}; }

Status check_piece(std::string_view of, std::size_t bytes) {
  if (bytes <= StatePiece::kMaxBytes) return {};
  return unsound(fmt::format("{} has a piece of {} bytes, at most {} are taken", of, bytes,
                             StatePiece::kMaxBytes));
}

Result<Message> from(const wire::StateRequest& request) {
  if (Status status = check_piece("a request for state", request.set().size()); !status.ok()) {
    return status;
  }
  return Message(StateRequest{.number = request.number(),
                              .tensor = request.tensor(),
                              .part = request.part(),
                              .offset = request.offset(),
                              .set = request.set(),
                              .total = request.total()});
}

Result<Message> from(const wire::StatePiece& piece) {
  if (Status status = check_piece("an answer with state", piece.piece().size()); !status.ok()) {
    return status;
  }
  return Message(StatePiece{.number = piece.number(),
                            .total = piece.total(),
                            .version = piece.version(),
                            .piece = piece.piece(),
                            .why = outcome_from(piece.code(), piece.cause())});
}

Recall recall_from(const wire::Recall& recall) {
  return Recall{.tensor = recall.tensor(),
                .part = recall.part(),
                .round = recall.round(),
                .version = recall.version(),
                .finished = recall.finished(),
                .owed = recall.owed()};
}

template <typename Workers>
bool standings_from(const Workers& workers, std::vector<PartImage::Standing>& made) {
  for (const wire::PartImage::Standing& each : workers) {
    const bool sound = each.rounds() < PartImage::kMostRounds && each.before() <= each.rounds();
    if (!sound) return false;
    made.push_back({each.node(), each.rounds(), each.before(), each.number()});
  }
  return true;
}

Result<Message> from(const wire::PartImage& image) {
  PartImage made{.tensor = image.tensor(),
                 .part = image.part(),
                 .version = image.version(),
                 .finished = image.finished(),
                 .empty = image.empty(),
                 .total = image.total(),
                 .made_nothing = image.made_nothing()};
  bool sound = image.workers_size() <= static_cast<int>(kMaxNodes) &&
               made.version < PartImage::kMostRounds && made.finished < PartImage::kMostRounds &&
               made.empty <= made.finished && (made.empty > 0 || !made.made_nothing) &&
               made.total <= PartImage::kMostBytes;
  sound = sound && standings_from(image.workers(), made.workers);
  if (sound) return Message(std::move(made));
  return unsound(fmt::format("a part's image of version {}, {} rounds, {} workers and {} bytes",
                             made.version, made.finished, image.workers_size(), made.total));
}

Result<Message> from(const wire::LogEntry& entry) {
  const int most = static_cast<int>(kMaxNodes);
  std::optional<LogEntry::Regrouped> regrouped;
  bool sound = entry.version() != 0 && entry.version() < PartImage::kMostRounds &&
               entry.listeners() <= kMaxNodes && entry.total() <= PartImage::kMostBytes &&
               entry.makers_size() <= most && entry.workers_size() <= most &&
               entry.finished() < PartImage::kMostRounds && entry.empty() <= entry.finished();
  if (sound && entry.makers_size() != 0) {
    LogEntry::Regrouped told;
    told.makers.assign(entry.makers().begin(), entry.makers().end());
    told.finished = entry.finished();
    told.empty = entry.empty();
    sound = standings_from(entry.workers(), told.workers);
    regrouped = std::move(told);
  }
  if (!sound) {
    return unsound(fmt::format("an update of version {}, {} listeners and {} bytes, of {} workers",
                               entry.version(), entry.listeners(), entry.total(),
                               entry.workers_size()));
  }
  return Message(LogEntry{.tensor = entry.tensor(),
                          .part = entry.part(),
                          .version = entry.version(),
                          .worker = entry.worker(),
                          .listeners = entry.listeners(),
                          .assign = entry.assign(),
                          .total = entry.total(),
                          .regrouped = std::move(regrouped)});
}

Result<Message> from(const wire::Move& move) {
  constexpr std::size_t kMostHostBytes = 128;
  const auto is_plain = [](char c) { return c > ' ' && c <= '~'; };
  if (move.host().size() > kMostHostBytes || !std::ranges::all_of(move.host(), is_plain)) {
    return unsound(
        fmt::format("a move to a host with a name of {} bytes, or of others than "
                    "letters, digits and signs",
                    move.host().size()));
  }
  if (move.joining() > kMaxNodes || move.settings().size() > Move::kMostSettingsBytes) {
    return unsound(fmt::format("a move of {} servers that join, which are told {} bytes",
                               move.joining(), move.settings().size()));
  }
  if (move.joining() == 0 && (move.any() || move.machine() != 0)) {
    return unsound("a move of no servers that join, whose places may be anybody's");
  }
  const bool fine = move.code() == 0;
  return Message(Move{.server = move.server(),
                      .host = move.host(),
                      .why = fine ? Status() : status_from(move.code(), move.cause(), {}),
                      .joining = move.joining(),
                      .any = move.any(),
                      .machine = move.machine(),
                      .other = move.other(),
                      .settings = move.settings()});
}

}  // namespace

Result<Message> state_from(const wire::Control& message) {
  if (message.has_state_request()) return from(message.state_request());
  if (message.has_state_piece()) return from(message.state_piece());
  if (message.has_part_image()) return from(message.part_image());
  if (message.has_log_entry()) return from(message.log_entry());
  if (message.has_standby_ready()) {
    return Message(StandbyReady{.node = message.standby_ready().node()});
  }
  if (message.has_move()) return from(message.move());
  if (message.has_recall()) return Message(recall_from(message.recall()));
  return unsound("a control message says nothing that is known here");
}

}  // namespace stretto::control
