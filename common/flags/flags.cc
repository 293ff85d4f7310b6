// SPDX-License-Identifier: Apache-2.0
// Reads flags with gflags, which returns an empty text for a value that it rejects.
#include "common/flags/flags.h"

#include <fmt/format.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/build_version.h"
#include "common/config/program.h"
#include "common/log.h"

namespace stretto::flags {
namespace {

constexpr std::size_t kColumns = 100;

// gflags defines its own flags, such as --flagfile, in its own sources.
bool is_ours(const gflags::CommandLineFlagInfo& info) {
  return !std::string_view(info.filename)
              .substr(info.filename.rfind('/') + 1)
              .starts_with("gflags");
}

bool names_a_value(std::string_view word) {
  if (word.size() < 2 || word.back() != ':') return false;
  return word.find('|') != std::string_view::npos ||
         std::none_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// A flag as the user types it, and its description.
std::pair<std::string, std::string_view> described(const gflags::CommandLineFlagInfo& info) {
  std::string_view text = info.description;
  const std::string_view first = text.substr(0, text.find(' '));
  if (info.type == "bool") return {"--" + info.name, text};
  std::string_view value = info.type == "string" ? "TEXT" : "N";
  if (names_a_value(first)) {
    value = first.substr(0, first.size() - 1);
    text.remove_prefix(std::min(first.size() + 1, text.size()));
  }
  return {fmt::format("--{} {}", info.name, value), text};
}

// `text` wrapped into lines that begin at `column`; the output is already at that column.
std::string wrapped(std::string_view text, std::size_t column) {
  std::string lines;
  const std::size_t width = kColumns - column;
  while (text.size() > width) {
    std::size_t end = text.rfind(' ', width);
    if (end == std::string_view::npos || end == 0) break;
    fmt::format_to(std::back_inserter(lines), "{}\n{:{}}", text.substr(0, end), "", column);
    text.remove_prefix(end + 1);
  }
  return lines.append(text) + "\n";
}

}  // namespace

Result<Words> read(const std::vector<std::string>& words) {
  Words found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word.front() != '-') {
      found.rest.push_back(word);
      continue;
    }
    if (word == "--") {
      found.rest.insert(found.rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                        words.end());
      break;
    }
    found.help = word == "--help" || word == "-h";
    found.version = word == "--version";
    if (found.help || found.version) break;
    const std::size_t equals = word.find('=');
    const std::size_t begin = word.starts_with("--") ? 2 : 1;
    std::string name = word.substr(begin, equals - begin);
    std::replace(name.begin(), name.end(), '-', '_');
    gflags::CommandLineFlagInfo info;
    if (!gflags::GetCommandLineFlagInfo(name.c_str(), &info) || !is_ours(info)) {
      return Status(Code::kInvalidArgument,
                    fmt::format("there is no flag {}; --help lists them", word));
    }
    std::string value = "true";
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (info.type != "bool") {
      if (++i == words.size()) {
        return Status(Code::kInvalidArgument, fmt::format("{} wants a value", word));
      }
      value = words[i];
    }
    if (gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) {
      return Status(Code::kInvalidArgument,
                    fmt::format("'{}' is no value of --{}, wanted: {}", value, name, info.type));
    }
  }
  return found;
}

std::string help(std::string_view usage) {
  std::vector<gflags::CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  std::erase_if(all, [](const auto& info) { return !is_ours(info); });
  std::size_t column = 0;
  for (const auto& info : all) column = std::max(column, described(info).first.size() + 4);
  std::string text = fmt::format("{}\n\n", usage);
  for (const auto& info : all) {
    const auto [typed, meaning] = described(info);
    fmt::format_to(std::back_inserter(text), "  {:{}}{}", typed, column - 2,
                   wrapped(meaning, column));
  }
  return text + "  --help, --version\n";
}

int refuse(const Status& status) {
  std::fprintf(stderr, "%s\n", arguments_line(status, log_identity().role).c_str());
  return kUsageStatus;
}

Started start(int argc, char** argv, const char* name, std::string_view usage) {
  set_log_identity({name, -1});
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  Result<Words> found = read(words);
  if (!found.ok()) return {.exit_status = refuse(found.status()), .rest = {}};
  if (found->help) std::fputs(help(usage).c_str(), stdout);
  if (found->version) std::printf("stretto-%s %s\n", name, build_version().c_str());
  if (found->help || found->version) return {.exit_status = 0, .rest = {}};
  return {.exit_status = -1, .rest = std::move(found->rest)};
}

int start_with_flags_only(int argc, char** argv, const char* name, std::string_view usage) {
  const Started started = start(argc, argv, name, usage);
  if (started.exit_status >= 0 || started.rest.empty()) return started.exit_status;
  return refuse({Code::kInvalidArgument,
                 "'" + started.rest.front() + "' is not understood; --help says more"});
}

}  // namespace stretto::flags
