// SPDX-License-Identifier: Apache-2.0
// Lines in which a scheduler reports its job's formation and losses to its launcher, after the line
// with its address.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace stretto {

enum class JobFormation : std::uint8_t {
  kUnawaited,  ///< No worker has joined, so none waits for the job.
  kAwaited,    ///< Some worker has joined, and waits for others.
  kComplete    ///< All members have joined; this state is final.
};

inline constexpr std::string_view kGatheringLines[] = {"no worker waits", "workers wait",
                                                       "all are here"};

constexpr std::string_view line_of(JobFormation gathering) {
  return kGatheringLines[static_cast<std::size_t>(gathering)];
}

/// None: not such a line.
constexpr std::optional<JobFormation> gathering_named(std::string_view line) {
  for (const JobFormation one :
       {JobFormation::kUnawaited, JobFormation::kAwaited, JobFormation::kComplete}) {
    if (line == line_of(one)) return one;
  }
  return std::nullopt;
}

/// Of an elastic job, once complete: it continues without this worker; or the worker's process
/// still ran, and rejoins.
inline constexpr std::string_view kLossBegin = "the job goes on without worker ";
inline constexpr std::string_view kReturnBegin = "again there comes worker ";
/// Of a job of fixed size: this server is lost, and the job continues once it is replaced.
inline constexpr std::string_view kAwaitedBegin = "another comes for server ";
/// The same for a server that should have replaced another, which stays primary.
inline constexpr std::string_view kDroppedBegin = "the job goes on without server ";
/// Heartbeat of a restartable scheduler, repeated.
inline constexpr std::string_view kLifeLine = "the scheduler is at work";
/// Number of external workers in the job; repeated while there are any.
inline constexpr std::string_view kGuestsEnd = " workers are in that have joined by themselves";

/// A worker has joined the complete job, as a replacement does.
inline constexpr std::string_view kJoinedBegin = "worker ";
inline constexpr std::string_view kJoinedEnd = " has joined";
/// A worker has left an elastic job: a later failure of its process is harmless.
inline constexpr std::string_view kLeftEnd = " has left in order";

/// None: not only digits.
template <typename Number = std::uint32_t>
std::optional<Number> whole_number(std::string_view digits) {
  Number number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return number;
}

struct LossReport {
  std::uint32_t number = 0;  ///< Of a worker, or a server.
  bool is_back = false;      ///< It was lost before, and has rejoined. Workers only.
  bool server = false;
  bool dropped = false;  ///< A server that is not replaced. Servers only.
};

inline std::string_view begin_of(const LossReport& news) {
  if (news.server) return news.dropped ? kDroppedBegin : kAwaitedBegin;
  return news.is_back ? kReturnBegin : kLossBegin;
}

/// The report in a line about a lost member; none: not such a line.
inline std::optional<LossReport> loss_news_in(std::string_view line) {
  for (LossReport news : {LossReport{}, LossReport{.is_back = true}, LossReport{.server = true},
                          LossReport{.server = true, .dropped = true}}) {
    const std::string_view begin = begin_of(news);
    if (!line.starts_with(begin)) continue;
    const std::optional<std::uint32_t> number = whole_number(line.substr(begin.size()));
    if (!number) continue;
    news.number = *number;
    return news;
  }
  return std::nullopt;
}

/// A checkpoint in the job's own folder. Another attempt must find it, or a newer one.
struct SavedCheckpoint {
  std::uint64_t number = 0;
  std::uint64_t step = 0;  ///< Of the program.
  bool is_made = true;     ///< By this attempt; false: the attempt resumes from it.

  friend bool operator==(const SavedCheckpoint&, const SavedCheckpoint&) = default;
};

inline constexpr std::string_view kSavedBegin = "a checkpoint is complete, of step ";
inline constexpr std::string_view kRestoredBegin = "the job goes on from the checkpoint of step ";
inline constexpr std::string_view kSavedNumber = ", number ";

/// The checkpoint in a line; none: not such a line.
inline std::optional<SavedCheckpoint> saved_in(std::string_view line) {
  const bool is_made = line.starts_with(kSavedBegin);
  if (!is_made && !line.starts_with(kRestoredBegin)) return std::nullopt;
  line.remove_prefix((is_made ? kSavedBegin : kRestoredBegin).size());
  const std::size_t end = line.find(kSavedNumber);
  if (end == std::string_view::npos) return std::nullopt;
  const auto step = whole_number<std::uint64_t>(line.substr(0, end));
  const auto number = whole_number<std::uint64_t>(line.substr(end + kSavedNumber.size()));
  if (!step || !number) return std::nullopt;
  return SavedCheckpoint{.number = *number, .step = *step, .is_made = is_made};
}

/// The number in "worker N" and then `end`; none: not such a line.
inline std::optional<std::uint32_t> worker_before(std::string_view end, std::string_view line) {
  if (!line.starts_with(kJoinedBegin) || !line.ends_with(end)) return std::nullopt;
  line.remove_suffix(end.size());
  return whole_number(line.substr(std::min(kJoinedBegin.size(), line.size())));
}

/// The rank of a worker that has joined; none: not such a line.
inline std::optional<std::uint32_t> joined_in(std::string_view line) {
  return worker_before(kJoinedEnd, line);
}

/// A forming elastic job awaits another process for this worker, whose process has ended.
inline constexpr std::string_view kMissedBegin = "another is awaited for worker ";

/// The rank of that worker; none: not such a line.
inline std::optional<std::uint32_t> missed_in(std::string_view line) {
  if (!line.starts_with(kMissedBegin)) return std::nullopt;
  return whole_number(line.substr(kMissedBegin.size()));
}

/// The rank of a worker that has left; none: not such a line.
inline std::optional<std::uint32_t> left_in(std::string_view line) {
  return worker_before(kLeftEnd, line);
}

/// The number of external workers; none: not such a line.
inline std::optional<std::uint32_t> guests_named(std::string_view line) {
  if (!line.ends_with(kGuestsEnd)) return std::nullopt;
  return whole_number(line.substr(0, line.size() - kGuestsEnd.size()));
}

}  // namespace stretto
