// SPDX-License-Identifier: Apache-2.0
// gflags knows names and types, and says by an empty answer that a value is none.
#include "tools/trace/flags.h"

#include <fmt/format.h>
#include <gflags/gflags.h>

#include <cstdio>
#include <utility>

#include "common/log.h"
#include "common/program.h"
#include "common/version.h"

namespace stretto::observe {

Result<Words> read_flags(const std::vector<std::string>& words) {
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
    const std::string name = word.substr(begin, equals - begin);
    gflags::CommandLineFlagInfo info;
    if (!gflags::GetCommandLineFlagInfo(name.c_str(), &info)) {
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

int refuse(Status status) {
  static_cast<void>(exit_status(std::move(status).with_operation("arguments")));
  return kUsageStatus;
}

Started start(int argc, char** argv, const char* name, const char* usage) {
  set_log_identity({name, -1});
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  Result<Words> found = read_flags(words);
  if (!found.ok()) return {.exit_status = refuse(found.status()), .rest = {}};
  if (found->help) std::printf("%s\n", usage);
  if (found->version) std::printf("stretto-%s %s\n", name, kVersion);
  if (found->help || found->version) return {.exit_status = 0, .rest = {}};
  return {.exit_status = -1, .rest = std::move(found->rest)};
}

}  // namespace stretto::observe
