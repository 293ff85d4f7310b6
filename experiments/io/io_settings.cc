// SPDX-License-Identifier: Apache-2.0
// The flags of io.
#include "experiments/io/io_settings.h"

namespace stretto::bench::experiments {
namespace {

constexpr std::pair<std::string_view, Pattern> kPatterns[] = {
    {"sequential", Pattern::kSequential}, {"random", Pattern::kRandom}, {"files", Pattern::kFiles}};
constexpr std::pair<std::string_view, bool> kDevices[] = {{"real", true}, {"model", false}};

Status read_kinds(std::string_view text, std::vector<DeviceModel>& kinds) {
  kinds.clear();
  if (text == "all") return {};
  for (const std::string_view word : split(text)) {
    const Result<DeviceModel> kind = find_device_model(word);
    if (!kind.ok()) return kind.status();
    kinds.push_back(*kind);
  }
  return {};
}

}  // namespace

std::string_view name_of(Pattern pattern) { return word_for<Pattern>(kPatterns, pattern); }

std::vector<Flag> io_flags(IoSettings& settings) {
  return {{"path", false,
           [&settings](const std::string& word) {
             settings.path = word;
             return word.empty() ? invalid("wanted a path") : Status();
           }},
          choice_flag<Pattern>("pattern", kPatterns, settings.pattern),
          choice_flag<bool>("device", kDevices, settings.real),
          {"kind", false,
           [&settings](const std::string& word) { return read_kinds(word, settings.kinds); }},
          whole_flag("seeds", 1, 100'000, settings.seeds),
          whole_flag("repeats", 1, 1000, settings.repeats),
          seconds_flag("seconds", 0.01, 3600, settings.seconds)};
}

Status check_io(const IoSettings& settings) {
  if (settings.real && settings.path.empty()) {
    return invalid("--device real needs --path, a file or a folder of files to read");
  }
  if (!settings.real && !settings.path.empty()) {
    return invalid("--path is of --device real; the modelled device has no files");
  }
  if (settings.real && !settings.kinds.empty()) return invalid("--kind is of --device model");
  return {};
}

}  // namespace stretto::bench::experiments
