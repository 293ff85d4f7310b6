// SPDX-License-Identifier: Apache-2.0
// How far a job has come together, in the words by which its scheduler tells its launcher: a line
// each, after the line that says where it listens.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace stretto {

enum class JobFormation : std::uint8_t {
  kUnawaited,  ///< Nobody would mind if it never came together: no worker has come.
  kAwaited,    ///< Some worker has come, and waits for others.
  kComplete    ///< All are here. That is so from then on.
};

inline constexpr std::string_view kGatheringLines[] = {"no worker waits", "workers wait",
                                                       "all are here"};

constexpr std::string_view line_of(JobFormation gathering) {
  return kGatheringLines[static_cast<std::size_t>(gathering)];
}

/// None: those are no words of a scheduler's.
constexpr std::optional<JobFormation> gathering_named(std::string_view line) {
  for (const JobFormation one :
       {JobFormation::kUnawaited, JobFormation::kAwaited, JobFormation::kComplete}) {
    if (line == line_of(one)) return one;
  }
  return std::nullopt;
}

/// And of an elastic job, after all have come: it goes on without this worker; or its process,
/// which has lived on, comes to the job again.
inline constexpr std::string_view kLossBegin = "the job goes on without worker ";
inline constexpr std::string_view kReturnBegin = "again there comes worker ";
/// Of a job of fixed size: this server is lost, and the job goes on if another comes in its place.
inline constexpr std::string_view kAwaitedBegin = "another comes for server ";
/// The same of one that was to have another's place, which keeps it.
inline constexpr std::string_view kDroppedBegin = "the job goes on without server ";
/// Of a scheduler that may come back: it does not stand still. Said again and again.
inline constexpr std::string_view kLifeLine = "the scheduler is at work";
/// How many are in that its launcher has not started; said again and again while there are any.
inline constexpr std::string_view kGuestsEnd = " workers are in that have joined by themselves";

/// A worker has joined the job after all had come, as a replacement does.
inline constexpr std::string_view kJoinedBegin = "worker ";
inline constexpr std::string_view kJoinedEnd = " has joined";
/// A worker has left an elastic job in order: nothing is missing if its process fails afterwards.
inline constexpr std::string_view kLeftEnd = " has left in order";

/// None: those are no digits, or not only.
template <typename Number = std::uint32_t>
std::optional<Number> whole_number(std::string_view digits) {
  Number number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return number;
}

struct LossReport {
  std::uint32_t number = 0;  ///< Of a worker, or a server.
  bool is_back = false;      ///< It was lost before. Workers only.
  bool server = false;
  bool dropped = false;  ///< A server that nobody comes for. Servers only.
};

inline std::string_view begin_of(const LossReport& news) {
  if (news.server) return news.dropped ? kDroppedBegin : kAwaitedBegin;
  return news.is_back ? kReturnBegin : kLossBegin;
}

/// What a line says of a lost member; none: it says nothing like that.
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

/// A checkpoint in the folder to which the job saves. Another attempt must find it, or a newer one.
struct SavedCheckpoint {
  std::uint64_t number = 0;
  std::uint64_t step = 0;  ///< Of the program.
  bool is_made = true;     ///< By this attempt; false: the attempt goes on from it.

  friend bool operator==(const SavedCheckpoint&, const SavedCheckpoint&) = default;
};

inline constexpr std::string_view kSavedBegin = "a checkpoint is complete, of step ";
inline constexpr std::string_view kRestoredBegin = "the job goes on from the checkpoint of step ";
inline constexpr std::string_view kSavedNumber = ", number ";

/// The checkpoint that a line names; none: the line says nothing like that.
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

/// The number in "worker N" and then `end`; none: the line does not read so.
inline std::optional<std::uint32_t> worker_before(std::string_view end, std::string_view line) {
  if (!line.starts_with(kJoinedBegin) || !line.ends_with(end)) return std::nullopt;
  line.remove_suffix(end.size());
  return whole_number(line.substr(std::min(kJoinedBegin.size(), line.size())));
}

/// The number of the worker that a line says has joined; none: it says nothing like that.
inline std::optional<std::uint32_t> joined_in(std::string_view line) {
  return worker_before(kJoinedEnd, line);
}

/// An elastic job that has not come together awaits another process for this worker, whose process
/// has ended.
inline constexpr std::string_view kMissedBegin = "another is awaited for worker ";

/// The number of that worker; none: the line says nothing like that.
inline std::optional<std::uint32_t> missed_in(std::string_view line) {
  if (!line.starts_with(kMissedBegin)) return std::nullopt;
  return whole_number(line.substr(kMissedBegin.size()));
}

/// The number of the worker that a line says has left; none: it says nothing like that.
inline std::optional<std::uint32_t> left_in(std::string_view line) {
  return worker_before(kLeftEnd, line);
}

/// How many a line says have joined; none: it says nothing like that.
inline std::optional<std::uint32_t> guests_named(std::string_view line) {
  if (!line.ends_with(kGuestsEnd)) return std::nullopt;
  return whole_number(line.substr(0, line.size() - kGuestsEnd.size()));
}

}  // namespace stretto
