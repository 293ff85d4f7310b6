// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes blocks. Files are untrusted: lengths and records are checked.
#include "observe/trace/file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/log.h"

namespace stretto::trace {
namespace {

enum class Block : std::uint32_t { kIdentity = 0x5453'0101, kNotes, kName, kDropped };
struct FileHead {
  Block kind;
  std::uint32_t bytes;
};
constexpr std::size_t kMostBlock = kNotesABlock * sizeof(TraceNote);

void write_block(std::ostream& out, Block kind, const void* data, std::size_t bytes) {
  const auto head = std::bit_cast<std::array<char, sizeof(FileHead)>>(
      FileHead{kind, static_cast<std::uint32_t>(bytes)});
  out.write(head.data(), head.size());
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

template <typename T>
T read_as(const std::string& bytes, std::size_t at = 0) {
  T value{};
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

struct FileIdentity {
  std::uint32_t node;
  std::uint32_t role;
  std::uint32_t rank;
  std::uint32_t shard;
  std::uint64_t job;
};

Status wrong(const std::string& path, std::string_view what) {
  return {Code::kInvalidArgument,
          fmt::format("{} is no trace of a process: {}; wanted a file that STRETTO_TRACE=folder "
                      "left there",
                      path, what)};
}

// Counts of a file's notes.
struct Taken {
  std::size_t notes = 0;
  std::size_t senseless = 0;
  bool ended = false;
};

Status take_notes(const std::string& bytes, Node& node, Taken& taken) {
  if (bytes.size() % sizeof(TraceNote) != 0) return {Code::kMalformed, "a note is cut"};
  for (std::size_t at = 0; at + sizeof(TraceNote) <= bytes.size(); at += sizeof(TraceNote)) {
    const auto note = read_as<TraceNote>(bytes, at);
    ++taken.notes;
    if (!sensible(note)) {
      ++taken.senseless;
      continue;
    }
    if (node.records.size() >= kMostRecords) return {Code::kResource, "too many records"};
    unfold(note, [&node](const TraceRecord& span) { node.records.push_back(span); });
  }
  return {};
}

Status take_block(Block kind, const std::string& bytes, Node& node, Trace& trace, Taken& taken) {
  switch (kind) {
    case Block::kNotes:
      return take_notes(bytes, node, taken);
    case Block::kName:
      if (trace.tensors.size() < kMostTensors && bytes.size() > sizeof(std::uint32_t)) {
        trace.tensors[read_as<std::uint32_t>(bytes)] = bytes.substr(sizeof(std::uint32_t));
      }
      return {};
    case Block::kDropped:
      node.dropped = read_as<std::uint64_t>(bytes);
      taken.ended = true;
      return {};
    case Block::kIdentity:
      break;
  }
  return {Code::kMalformed, "a block of no known kind"};
}

// File names by job.
using Jobs = std::map<std::uint64_t, std::vector<std::string>>;

Status mixed(const std::string& folder, const Jobs& jobs) {
  constexpr std::size_t kMostNames = 10;
  std::string all;
  for (const auto& [job, names] : jobs) {
    const std::size_t told = std::min(names.size(), kMostNames);
    all += fmt::format(
        "{}{}", all.empty() ? "" : "; ",
        fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(told), ", "));
    if (told < names.size()) all += fmt::format(" and {} more", names.size() - told);
  }
  return {Code::kInvalidArgument,
          fmt::format("{} holds files of {} jobs, which are no one trace: {}; remove those of all "
                      "jobs but one, and give each job a STRETTO_TRACE of its own",
                      folder, jobs.size(), all)};
}

}  // namespace

void write_identity(std::ostream& out, const Node& node) {
  const FileIdentity who{.node = node.node,
                         .role = static_cast<std::uint32_t>(node.role),
                         .rank = node.rank,
                         .shard = node.shard,
                         .job = node.job};
  write_block(out, Block::kIdentity, &who, sizeof who);
}

void write_notes(std::ostream& out, std::span<const TraceNote> notes) {
  while (!notes.empty()) {
    const auto some = notes.first(std::min(notes.size(), kNotesABlock));
    write_block(out, Block::kNotes, some.data(), some.size_bytes());
    notes = notes.subspan(some.size());
  }
}

void write_name(std::ostream& out, std::uint32_t tensor, const std::string& name) {
  std::string bytes(sizeof tensor, '\0');
  std::memcpy(bytes.data(), &tensor, sizeof tensor);
  bytes += name;
  write_block(out, Block::kName, bytes.data(), std::min(bytes.size(), kMostBlock));
}

void write_dropped(std::ostream& out, std::uint64_t dropped) {
  write_block(out, Block::kDropped, &dropped, sizeof dropped);
}

std::string file_name(const Node& node) {
  const std::string name = fmt::format("{}-{}", name_of(node.role), node.rank);
  return name + (node.shard == 0 ? "" : fmt::format("-{}", node.shard)) + ".trace";
}

Status read_file(const std::string& path, Trace& trace) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return wrong(path, "it cannot be read");
  Node node;
  bool known = false;
  Taken taken;
  std::array<char, sizeof(FileHead)> bytes{};
  std::streamsize cut = 0;  // Bytes of an incomplete block.
  while (in.read(bytes.data(), bytes.size())) {
    const auto head = std::bit_cast<FileHead>(bytes);
    if (head.bytes > kMostBlock) return wrong(path, "a block is too long");
    std::string body(head.bytes, '\0');
    if (!in.read(body.data(), head.bytes)) {
      cut = static_cast<std::streamsize>(sizeof head);
      break;
    }
    if (!known) {
      const auto who = read_as<FileIdentity>(body);
      const bool is_role = who.role == 2 || who.role == 3;
      if (head.kind != Block::kIdentity || body.size() != sizeof who || !is_role) {
        return wrong(path, "it does not begin with who it is");
      }
      node = {.node = who.node,
              .role = static_cast<Role>(who.role),
              .rank = who.rank,
              .shard = who.shard,
              .job = who.job,
              .dropped = 0,
              .records = {}};
      known = true;
    } else if (Status status = take_block(head.kind, body, node, trace, taken); !status.ok()) {
      return wrong(path, status.cause());
    }
  }
  cut += in.gcount();
  if (!known) return wrong(path, "it is empty");
  if (taken.notes > 0 && taken.senseless == taken.notes) {
    return wrong(path, "none of its notes makes sense");
  }
  if (taken.senseless > 0) {
    log(Level::kWarning, "{}: {} of {} notes make no sense and are left out", path, taken.senseless,
        taken.notes);
  }
  if (!taken.ended) {
    log(Level::kWarning,
        "{} ends early, as when its process is killed or still runs: its first {} notes are taken, "
        "{} bytes of a block that is cut are not",
        path, taken.notes, cut);
  }
  if (trace.nodes.size() >= kMostNodes) return wrong(path, "there are too many");
  trace.nodes.push_back(std::move(node));
  return {};
}

std::optional<std::uint64_t> job_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(sizeof(FileHead) + sizeof(FileIdentity), '\0');
  if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return std::nullopt;
  const auto head = read_as<FileHead>(bytes);
  if (head.kind != Block::kIdentity || head.bytes != sizeof(FileIdentity)) return std::nullopt;
  return read_as<FileIdentity>(bytes, sizeof head).job;
}

Result<Trace> read_folder(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".trace") paths.push_back(entry->path().string());
  }
  if (error || paths.empty()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{} holds no *.trace; wanted the folder of STRETTO_TRACE, after the "
                              "job has begun to write there",
                              folder));
  }
  std::sort(paths.begin(), paths.end());
  Trace trace;
  Jobs jobs;
  for (const std::string& path : paths) {
    if (Status status = read_file(path, trace); !status.ok()) return status;
    jobs[trace.nodes.back().job].push_back(std::filesystem::path(path).filename().string());
  }
  if (jobs.size() > 1) return mixed(folder, jobs);
  return trace;
}

}  // namespace stretto::trace
