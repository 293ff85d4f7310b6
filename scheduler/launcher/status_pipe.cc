// SPDX-License-Identifier: Apache-2.0
// A line for each change; then the descriptor is closed.
#include "scheduler/launcher/status_pipe.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace stretto {

Status StatusPipe::tell_address(std::string_view address) {
  if (descriptor_ < 0) return {};
  // A reader that closes after the first line must not kill this process.
  std::signal(SIGPIPE, SIG_IGN);
  if (say(address) == Said::kYes) return {};
  return {Code::kInvalidArgument,
          fmt::format("--ready_fd {} cannot be written to: {}", descriptor_, std::strerror(errno))};
}

void StatusPipe::step(Duration wait) {
  agent_.step(wait);
  if (descriptor_ < 0) return;
  if (changes_.life) tell_life();
  if (descriptor_ >= 0 && changes_.missed) tell_missed();
  if (descriptor_ >= 0) tell_gathering();
  if (descriptor_ < 0 || told_ != JobFormation::kComplete) return;
  // First: a launcher must not end a joined worker when another one rejoins.
  if (changes_.replacements) tell_replacements();
  if (descriptor_ >= 0 && changes_.losses) tell_losses();
  if (descriptor_ >= 0 && changes_.moves) tell_moves();
  if (descriptor_ >= 0 && changes_.leavers) tell_leavers();
  if (descriptor_ >= 0 && changes_.guests) tell_guests();
  if (descriptor_ >= 0 && changes_.saved) tell_saved();
}

void StatusPipe::tell_life() {
  const Time now = clock_.now();
  if (now < life_due_) return;
  if (settles(say(kLifeLine))) life_due_ = now + *changes_.life;
}

void StatusPipe::tell_saved() {
  const std::optional<SavedCheckpoint> saved = changes_.saved();
  if (!saved || saved == told_saved_) return;
  const std::string line = fmt::format("{}{}{}{}", saved->is_made ? kSavedBegin : kRestoredBegin,
                                       saved->step, kSavedNumber, saved->number);
  if (settles(say(line))) told_saved_ = saved;
}

void StatusPipe::tell_missed() {
  const std::vector<Rank>& missed = changes_.missed();
  while (told_missed_ < missed.size()) {
    if (!settles(say(fmt::format("{}{}", kMissedBegin, missed[told_missed_])))) return;
    ++told_missed_;
  }
}

void StatusPipe::tell_losses() {
  const std::vector<LossReport>& lost = changes_.losses();
  while (told_losses_ < lost.size()) {
    const LossReport& news = lost[told_losses_];
    if (!settles(say(fmt::format("{}{}", begin_of(news), news.number)))) return;
    ++told_losses_;
  }
}

void StatusPipe::tell_moves() {
  const std::vector<MigrationOrder>& orders = changes_.moves();
  while (told_moves_ < orders.size()) {
    if (!settles(say(line_of(orders[told_moves_])))) return;
    ++told_moves_;
  }
}

void StatusPipe::tell_replacements() {
  const std::vector<Rank> numbers = changes_.replacements();
  // A launcher may start another process of a number once the previous one has ended.
  std::erase_if(told_replacements_,
                [&](Rank number) { return std::ranges::find(numbers, number) == numbers.end(); });
  for (const Rank number : numbers) {
    if (told_replacements_.contains(number)) continue;
    if (!settles(say(fmt::format("{}{}{}", kJoinedBegin, number, kJoinedEnd)))) return;
    told_replacements_.insert(number);
  }
}

void StatusPipe::tell_leavers() {
  const std::vector<Rank>& numbers = changes_.leavers();
  while (told_leavers_ < numbers.size()) {
    const Rank number = numbers[told_leavers_];
    if (!settles(say(fmt::format("{}{}{}", kJoinedBegin, number, kLeftEnd)))) return;
    ++told_leavers_;
  }
}

void StatusPipe::tell_guests() {
  const std::uint32_t guests = changes_.guests();
  const Time now = clock_.now();
  if (guests == told_guests_ && (guests == 0 || now < guests_due_)) return;
  if (!settles(say(fmt::format("{}{}", guests, kGuestsEnd)))) return;
  told_guests_ = guests;
  guests_due_ = now + kGuestsEvery;
}

void StatusPipe::tell_gathering() {
  const JobFormation now = state_();
  if (now == told_) return;
  const Said said = say(line_of(now));
  if (said == Said::kNotYet) return;
  told_ = now;
  const bool all_said = now == JobFormation::kComplete && changes_.none();
  if (said == Said::kNever || all_said) close();
}

// False: retry later, or the reader has gone.
bool StatusPipe::settles(Said said) {
  if (said == Said::kNever) close();
  return said == Said::kYes;
}

// A pipe takes such a short line as a whole, or not at all.
StatusPipe::Said StatusPipe::say(std::string_view text) const {
  const std::string line = fmt::format("{}\n", text);
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return Said::kYes;
  const bool full = written < 0 && (errno == EAGAIN || errno == EINTR);
  return full ? Said::kNotYet : Said::kNever;
}

void StatusPipe::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor < 0) return;
  ::shutdown(descriptor, SHUT_WR);  // A copy of the descriptor may keep a socket open.
  ::close(descriptor);
}

}  // namespace stretto
