// SPDX-License-Identifier: Apache-2.0
// A commit on the disk: a header of 20 bytes, then consecutive records. The header has a mark, the
// number of bytes that follow, the commit's number, the checksum of these two, and that of the
// records. Numbers are little-endian.
#include "scheduler/journal/journal.h"

#include <fmt/core.h>

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "common/memory/crc32c.h"

namespace stretto {
namespace {

constexpr std::uint32_t kMark = 0x4c4a5453;  // "STJL"
constexpr std::size_t kHeadBytes = 20;
constexpr std::size_t kRecordBytes = 25;  // Without its text.

template <typename Number>
void put(std::string& text, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    text.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xff));
  }
}

// Takes a number off the front; requires enough bytes.
template <typename Number>
Number take(std::string_view& text) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= std::uint64_t{static_cast<std::uint8_t>(text[i])} << (8 * i);
  }
  text.remove_prefix(sizeof(Number));
  return static_cast<Number>(number);
}

std::uint32_t checksum_of(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

struct CommitHead {
  std::uint32_t bytes = 0;
  std::uint32_t number = 0;
  std::uint32_t checksum = 0;
};

// None: that is no header.
std::optional<CommitHead> head_at(std::string_view text) {
  if (text.size() < kHeadBytes) return std::nullopt;
  const std::uint32_t sum = checksum_of(text.substr(4, 8));
  if (take<std::uint32_t>(text) != kMark) return std::nullopt;
  CommitHead head{.bytes = take<std::uint32_t>(text), .number = take<std::uint32_t>(text)};
  if (take<std::uint32_t>(text) != sum) return std::nullopt;
  head.checksum = take<std::uint32_t>(text);
  return head;
}

// The records of the commit that begins there; none: it is incomplete.
std::optional<std::string_view> commit_at(std::string_view text, const CommitHead& head) {
  if (text.size() - kHeadBytes < head.bytes) return std::nullopt;
  const std::string_view records = text.substr(kHeadBytes, head.bytes);
  if (checksum_of(records) != head.checksum) return std::nullopt;
  return records;
}

bool is_any_whole(std::string_view text) {
  const std::string mark = [] {
    std::string bytes;
    put(bytes, kMark);
    return bytes;
  }();
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string_view::npos; ++at) {
    const std::optional<CommitHead> head = head_at(text.substr(at));
    if (head && commit_at(text.substr(at), *head)) return true;
  }
  return false;
}

bool add_records(std::string_view text, std::vector<JournalRecord>& records) {
  while (!text.empty()) {
    if (text.size() < kRecordBytes) return false;
    JournalRecord record{.kind = static_cast<JournalRecord::Kind>(take<std::uint8_t>(text)),
                         .epoch = take<std::uint32_t>(text),
                         .number = take<std::uint64_t>(text),
                         .more = take<std::uint64_t>(text)};
    const auto bytes = take<std::uint32_t>(text);
    if (text.size() < bytes) return false;
    record.text = text.substr(0, bytes);
    text.remove_prefix(bytes);
    records.push_back(std::move(record));
  }
  return true;
}

Status damaged(const std::string& path, std::size_t at) {
  return {Code::kMalformed,
          fmt::format("the scheduler's journal '{}' is damaged at byte {}: what was decided after "
                      "that is not known, and the job cannot go on",
                      path, at)};
}

}  // namespace

Status Journal::hold(Disk& disk, const std::string& path, std::unique_ptr<FileHold>& held) {
  Result<std::unique_ptr<FileHold>> hold = disk.hold(path + ".lock");
  if (!hold.ok()) return hold.status().code() == Code::kUnsupported ? Status() : hold.status();
  held = std::move(*hold);
  if (held != nullptr) return {};
  return {Code::kRefused,
          fmt::format("another scheduler that lives has the journal '{}'; end it first", path)};
}

Result<std::unique_ptr<Journal>> Journal::begin(Disk& disk, const std::string& path) {
  std::unique_ptr<FileHold> held;
  if (Status status = hold(disk, path, held); !status.ok()) return status;
  Result<std::unique_ptr<File>> file = disk.open(path, Open::kCreate);
  if (!file.ok()) return file.status();
  std::unique_ptr<Journal> journal(new Journal(disk, path, std::move(*file)));
  journal->hold_ = std::move(held);
  return journal;
}

Result<Journal::Found> Journal::go_on(Disk& disk, const std::string& path) {
  std::unique_ptr<FileHold> held;
  if (Status status = hold(disk, path, held); !status.ok()) return status;
  Result<std::unique_ptr<File>> file = disk.open(path, Open::kWrite);
  if (!file.ok()) return file.status();
  const Result<std::uint64_t> size = (*file)->size();
  if (!size.ok()) return size.status();
  if (*size > kMostBytes) {
    return Status(Code::kResource, fmt::format("the scheduler's journal '{}' has {} bytes, wanted "
                                               "{} at most",
                                               path, *size, kMostBytes));
  }
  std::string text(*size, '\0');
  const Result<std::size_t> got = (*file)->read(0, std::as_writable_bytes(std::span(text)));
  if (!got.ok()) return got.status();
  text.resize(*got);

  Found found;
  std::size_t at = 0;
  std::uint32_t commits = 0;
  while (at < text.size()) {
    const std::string_view rest = std::string_view(text).substr(at);
    const std::optional<CommitHead> head = head_at(rest);
    const std::optional<std::string_view> records =
        head ? commit_at(rest, *head) : std::optional<std::string_view>();
    if (!records) {  // An incomplete last commit, or damage.
      if (is_any_whole(rest.substr(1))) return damaged(path, at);
      break;
    }
    if (head->number != commits + 1 || !add_records(*records, found.records)) {
      return damaged(path, at);
    }
    ++commits;
    at += kHeadBytes + head->bytes;
  }
  found.journal.reset(new Journal(disk, path, std::move(*file)));
  found.journal->hold_ = std::move(held);
  found.journal->end_ = at;
  found.journal->commits_ = commits;
  return found;
}

void Journal::add(const JournalRecord& record) {
  put(batch_, static_cast<std::uint8_t>(record.kind));
  put(batch_, record.epoch);
  put(batch_, record.number);
  put(batch_, record.more);
  put(batch_, static_cast<std::uint32_t>(record.text.size()));
  batch_ += record.text;
}

Status Journal::commit() {
  if (batch_.empty()) return {};
  std::string numbers;
  put(numbers, static_cast<std::uint32_t>(batch_.size()));
  put(numbers, commits_ + 1);
  std::string text;
  put(text, kMark);
  text += numbers;
  put(text, checksum_of(numbers));
  put(text, checksum_of(batch_));
  text += batch_;
  if (end_ + text.size() > kMostBytes) {
    return {Code::kResource,
            fmt::format("the scheduler's journal would have more than {} bytes", kMostBytes)};
  }
  Status status = file_->write(end_, std::as_bytes(std::span(text)));
  if (!status.ok()) return status;
  end_ += text.size();
  ++commits_;
  batch_.clear();
  return {};
}

}  // namespace stretto
