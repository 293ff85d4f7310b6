// SPDX-License-Identifier: Apache-2.0
// From news to lines.
#include "tools/join/joined_servers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace stretto::launch {
namespace {

constexpr Rank kNobody = ~Rank{0};

}  // namespace

void JoinedServers::fail(Status why, Rank server) {
  if (!status_.ok()) return;
  status_ = std::move(why);
  if (server != kNobody) status_ = std::move(status_).with_peer(fmt::format("server {}", server));
}

JoinedServers::Reaction JoinedServers::take(const observe::JoinNews& news) {
  using What = observe::JoinNews::What;
  Reaction reaction;
  const auto known = guests_.find(news.server);
  if (news.what == What::kRefused) {
    if (unanswered_ == 0) {  // They were asked for again, of the next scheduler.
      for (const observe::JoinWish& wish : undecided()) {
        Reaction next = refuse(*wish.server, news.why);
        std::ranges::move(next.kills, std::back_inserter(reaction.kills));
        std::ranges::move(next.notes, std::back_inserter(reaction.notes));
      }
      return reaction;
    }
    unanswered_ -= std::min(unanswered_, news.count);
    fail(news.why, kNobody);
  } else if (news.what == What::kStarts) {
    if (known != guests_.end() || unanswered_ == 0) return reaction;
    --unanswered_;
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

JoinedServers::Reaction JoinedServers::refuse(Rank server, Status why, bool runs) {
  Reaction reaction;
  Guest& guest = guests_[server];
  guest.runs = guest.runs && runs;
  guest.unwanted = true;
  if (guest.runs) reaction.kills.push_back(server);
  reaction.notes.push_back(fmt::format("server {} does not have the place of server {}: {}", server,
                                       guest.from, why.cause()));
  fail(std::move(why), server);
  return reaction;
}

JoinedServers::Reaction JoinedServers::end(Rank server, const Exit& exit,
                                           const std::optional<Statement>& said) {
  Reaction reaction;
  Guest& guest = guests_[server];
  guest.runs = false;
  if (guest.unwanted) return reaction;
  const std::string how = exit.text();
  if (!exit.failed()) {
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

void JoinedServers::give_up(Status why) {
  if (unanswered_ == 0) return;
  unanswered_ = 0;
  fail(std::move(why), kNobody);
}

bool JoinedServers::waits() const {
  if (unanswered_ != 0 && !interrupted_) return true;
  return std::ranges::any_of(guests_, [](const auto& item) {
    const Guest& guest = item.second;
    return guest.runs && !guest.is_in && !guest.unwanted;
  });
}

std::vector<observe::JoinWish> JoinedServers::undecided() const {
  std::vector<observe::JoinWish> wishes;
  for (const auto& [server, guest] : guests_) {
    if (!guest.runs || guest.is_in || guest.unwanted) continue;
    wishes.push_back({.place = guest.from, .server = server});
  }
  return wishes;
}

std::vector<Rank> JoinedServers::running() const {
  std::vector<Rank> servers;
  for (const auto& [server, guest] : guests_) {
    if (guest.runs) servers.push_back(server);
  }
  return servers;
}

}  // namespace stretto::launch
