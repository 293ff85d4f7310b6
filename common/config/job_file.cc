// SPDX-License-Identifier: Apache-2.0
// Lines of `key value`; the token comes last and takes the rest of the file, whatever it holds.
// PID, start time, machine boot and PID namespace identify a process, since the system reuses PIDs.
#include "common/config/job_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "common/files/private_folder.h"
#include "common/text.h"

namespace stretto {
namespace {

constexpr std::size_t kMostFiles = 4096;  // Files read from a folder.
constexpr std::size_t kMostBytes = 16384;
constexpr std::size_t kMostCommandBytes = 1024;
constexpr std::size_t kMostNameBytes = 128;
constexpr std::string_view kFormat = "stretto job 1";
constexpr std::string_view kSuffix = ".job";
constexpr int kFieldsBeforeStart = 19;  // Of /proc/PID/stat, between the name's end and starttime.

// When a process began, in the kernel's ticks since boot; empty if there is no such process.
std::string start_of(std::int64_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t end = text.rfind(')');  // The name may contain ')'.
  if (end == std::string::npos) return {};
  std::istringstream rest(text.substr(end + 1));
  std::string word;
  for (int i = 0; i <= kFieldsBeforeStart; ++i) rest >> word;
  return rest ? word : std::string();
}

std::string boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return text;
}

std::string process_namespace() {
  std::array<char, 64> text{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", text.data(), text.size());
  return length < 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(length));
}

std::string file_text(const KnownJob& job) {
  const std::int64_t self = ::getpid();
  return fmt::format(
      "{}\nprocess {}\nbegan {}\nboot {}\nnamespace {}\nname {}\nscheduler {}\nworkers {}\n"
      "servers {}\nstarted {}\nencrypted {}\nzmq {}\ncommand {}\ntoken {}",
      kFormat, self, start_of(self), boot(), process_namespace(), job.name, job.scheduler,
      job.workers, job.servers, job.started_s, job.encrypts ? 1 : 0, job.zmq ? 1 : 0, job.command,
      job.token);
}

using Fields = std::map<std::string, std::string, std::less<>>;

std::optional<Fields> fields_of(std::string_view text) {
  const auto take_line = [&text] {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
  };
  if (take_line() != kFormat) return std::nullopt;
  constexpr std::string_view kToken = "token ";
  Fields fields;
  while (!text.empty()) {
    if (text.starts_with(kToken)) {
      fields["token"] = text.substr(kToken.size());
      return fields;
    }
    const std::string_view line = take_line();
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    fields.emplace(line.substr(0, blank), line.substr(blank + 1));
  }
  return std::nullopt;
}

template <class Number>
Number number_in(const Fields& fields, std::string_view key) {
  Number value = 0;
  const auto found = fields.find(key);
  if (found == fields.end()) return value;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : Number{0};
}

std::string text_in(const Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? std::string() : found->second;
}

KnownJob job_from(const Fields& fields) {
  return {.name = text_in(fields, "name"),
          .scheduler = text_in(fields, "scheduler"),
          .command = text_in(fields, "command"),
          .workers = number_in<std::uint32_t>(fields, "workers"),
          .servers = number_in<std::uint32_t>(fields, "servers"),
          .started_s = number_in<std::int64_t>(fields, "started"),
          .process = number_in<std::int64_t>(fields, "process"),
          .encrypts = number_in<int>(fields, "encrypted") == 1,
          .zmq = number_in<int>(fields, "zmq") == 1,
          .token = text_in(fields, "token")};
}

enum class Writer { kRuns, kIsGone, kCannotBeSeen };

Writer writer_of(const Fields& fields) {
  if (text_in(fields, "boot") != boot()) return Writer::kIsGone;
  if (text_in(fields, "namespace") != process_namespace()) return Writer::kCannotBeSeen;
  const std::string began = start_of(number_in<std::int64_t>(fields, "process"));
  return !began.empty() && began == text_in(fields, "began") ? Writer::kRuns : Writer::kIsGone;
}

std::string own_file_name() {
  const std::int64_t self = ::getpid();
  return fmt::format("{}-{}{}", self, start_of(self), kSuffix);
}

std::string last_part(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string shown(std::string_view text, std::size_t most) {
  return shortened(printable(text), most);
}

}  // namespace

std::vector<std::string> job_folders(const Environment& environment) {
  if (const auto given = environment("STRETTO_RUNTIME_DIR")) return {*given};
  std::vector<std::string> folders;
  const std::string of_login = fmt::format("/run/user/{}", ::geteuid());
  for (const std::string& folder : {environment("XDG_RUNTIME_DIR").value_or(""), of_login}) {
    const std::string inside = folder + "/stretto";
    const bool known = std::find(folders.begin(), folders.end(), inside) != folders.end();
    if (!known && is_own_folder(folder)) folders.push_back(inside);
  }
  folders.push_back(fmt::format("/tmp/stretto-{}", ::geteuid()));
  return folders;
}

Status JobFile::write(const KnownJob& job, const std::vector<std::string>& folders) {
  remove();
  folders_ = folders;
  job_ = job;
  job_.name = shown(job.name, kMostNameBytes);
  job_.command = shown(job.command, kMostCommandBytes);
  const std::string name = own_file_name();
  Status status(Code::kResource, "there is no folder for it");
  for (const std::string& path : folders) {
    const Result<Descriptor> folder = open_private_folder(path, true);
    status = folder.ok() ? write_private_file(*folder, name, file_text(job_)) : folder.status();
    if (!status.ok()) continue;
    path_ = fmt::format("{}/{}", path, name);
    return {};
  }
  return status;
}

void JobFile::keep() {
  if (path_.empty() || ::access(path_.c_str(), F_OK) == 0) return;
  const std::vector<std::string> folders = folders_;
  const KnownJob job = job_;
  static_cast<void>(write(job, folders));  // The job continues without the file.
}

void JobFile::remove() {
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

std::vector<std::string> own_job_files(const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  for (const std::string& path : folders) paths.push_back(path + "/" + own_file_name());
  return paths;
}

std::vector<KnownJob> known_jobs(const std::vector<std::string>& folders) {
  std::vector<KnownJob> jobs;
  for (const std::string& path : folders) {
    const Result<Descriptor> folder = open_private_folder(path, false);
    if (!folder.ok()) continue;
    for (const std::string& name : names_in(*folder, kMostFiles)) {
      if (!name.ends_with(kSuffix)) continue;
      const Result<std::string> text = read_private_file(*folder, name, kMostBytes);
      const std::optional<Fields> fields = text.ok() ? fields_of(*text) : std::nullopt;
      if (!fields) continue;  // Another user's file, or another release's.
      const Writer writer = writer_of(*fields);
      if (writer == Writer::kRuns) jobs.push_back(job_from(*fields));
      if (writer == Writer::kIsGone) ::unlinkat(folder->get(), name.c_str(), 0);
    }
  }
  std::sort(jobs.begin(), jobs.end(), [](const KnownJob& a, const KnownJob& b) {
    return std::tie(a.started_s, a.process) < std::tie(b.started_s, b.process);
  });
  return jobs;
}

std::string command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += word;
  }
  return line;
}

std::string job_name(const std::vector<std::string>& words) {
  if (words.empty()) return "stretto";
  std::string program = last_part(words.front());
  if (!program.starts_with("python")) return program;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-m" && i + 1 < words.size()) return words[i + 1];
    if (!words[i].starts_with("-")) return last_part(words[i]);
  }
  return program;
}

}  // namespace stretto
