// SPDX-License-Identifier: Apache-2.0
// From news to lines.
#include "tools/launch/join/external_server_tracker.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "common/launch_protocol/migration_lines.h"

namespace stretto::launch {
namespace {

constexpr Rank kNobody = ~Rank{0};

}  // namespace

ExternalServerTracker::ExternalServerTracker(std::uint32_t count, const std::vector<Rank>& places) {
  for (const Rank place : places) unanswered_.push_back({.place = place});
  if (places.empty()) unanswered_.push_back({.count = count});
}

void ExternalServerTracker::fail(Status why, Rank server) {
  if (!status_.ok()) return;
  status_ = std::move(why);
  if (server != kNobody) status_ = std::move(status_).with_peer(fmt::format("server {}", server));
}

ExternalServerTracker::Reaction ExternalServerTracker::take(const observe::ServerJoinStatus& news) {
  using What = observe::ServerJoinStatus::What;
  Reaction reaction;
  const auto known = guests_.find(news.server);
  if (news.what == What::kRefused) {
    if (unanswered_.empty()) return reaction;
    unanswered_.pop_front();
    if (!interrupted_) {
      reaction.notes.push_back("no place is given: " + news.why.cause());
      fail(news.why, kNobody);
    }
  } else if (news.what == What::kStarts) {
    const bool runs = known != guests_.end() && known->second.runs;
    if (runs || unanswered_.empty()) return reaction;
    if (--unanswered_.front().count == 0) unanswered_.pop_front();
    if (interrupted_) return reaction;
    guests_[news.server] = {.from = news.from};
    reaction.starts.push_back({news.server, news.settings});
    reaction.notes.push_back(fmt::format("server {} is started, to have the place of server {}",
                                         news.server, news.from));
  } else if (known != guests_.end() && !known->second.is_in && !known->second.unwanted) {
    Guest& guest = known->second;
    if (news.what != What::kIsIn) return refuse(news.server, news.why);
    guest.is_in = true;
    reaction.notes.push_back(
        stand_by_
            ? fmt::format("server {} has all that server {} has, and stands by for it", news.server,
                          guest.from)
            : fmt::format("server {} has the place of server {} now", news.server, guest.from));
  }
  return reaction;
}

ExternalServerTracker::Reaction ExternalServerTracker::refuse(Rank server, Status why, bool runs) {
  Reaction reaction;
  Guest& guest = guests_[server];
  guest.runs = guest.runs && runs;
  guest.unwanted = true;
  if (guest.runs) reaction.kills.push_back(server);
  reaction.notes.push_back(fmt::format("server {} does not have the place of server {}: {}", server,
                                       guest.from, why.cause()));
  if (!interrupted_) fail(std::move(why), server);  // Else it was wished.
  return reaction;
}

ExternalServerTracker::Reaction ExternalServerTracker::end(Rank server, const Exit& exit,
                                                           const std::optional<ErrorLine>& said) {
  Reaction reaction;
  Guest& guest = guests_[server];
  guest.runs = false;
  if (guest.unwanted) return reaction;
  const std::string how = exit.text();
  const bool obeyed = !exit.by_signal || exit.number == SIGTERM;
  if (interrupted_ && exit.failed() && obeyed && !guest.is_in) {
    guest.unwanted = true;
    reaction.notes.push_back(
        fmt::format("server {} has ended, as was asked, before it had the place of server {}",
                    server, guest.from));
    return reaction;
  }
  const bool left = interrupted_ && stand_by_ && said && said->cause == kAskedToEnd;
  if (!exit.failed() || left) {
    reaction.notes.push_back(
        fmt::format("server {} has ended in order: {}", server,
                    interrupted_  ? "it has given its place away, or the job is over"
                    : guest.is_in ? "the job is over, or another has its place"
                                  : "the job is over, and it had not been needed yet"));
    return reaction;
  }
  reaction.notes.push_back(fmt::format("server {} {}{}", server, how,
                                       guest.is_in ? "" : ", and never had the place it was for"));
  const std::string cause = fmt::format("server {} {}", server, how);
  if (said) {
    fail({said->code, fmt::format("{}: {}", cause, said->cause)}, server);
  } else {
    fail({Code::kServerLost, cause}, server);
  }
  return reaction;
}

void ExternalServerTracker::give_up(Status why) {
  if (unanswered_.empty()) return;
  unanswered_.clear();
  if (!interrupted_) fail(std::move(why), kNobody);
}

bool ExternalServerTracker::waits() const {
  if (!unanswered_.empty() && !interrupted_) return true;
  return std::ranges::any_of(guests_, [](const auto& item) {
    const Guest& guest = item.second;
    return guest.runs && !guest.is_in && !guest.unwanted;
  });
}

bool ExternalServerTracker::ends() const {
  return std::ranges::any_of(
      guests_, [](const auto& item) { return item.second.runs && item.second.unwanted; });
}

std::vector<observe::ServerJoinRequest> ExternalServerTracker::wishes() const {
  std::vector<observe::ServerJoinRequest> wishes;
  for (const auto& [server, guest] : guests_) {
    if (!guest.runs || guest.is_in || guest.unwanted) continue;
    wishes.push_back({.place = guest.from, .server = server});
  }
  if (!interrupted_) wishes.insert(wishes.end(), unanswered_.begin(), unanswered_.end());
  return wishes;
}

std::vector<Rank> ExternalServerTracker::running() const {
  std::vector<Rank> servers;
  for (const auto& [server, guest] : guests_) {
    if (guest.runs) servers.push_back(server);
  }
  return servers;
}

}  // namespace stretto::launch
