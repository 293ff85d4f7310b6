// SPDX-License-Identifier: Apache-2.0
// The flags of io.
#include "tools/bench/io_settings.h"

namespace stretto::bench {
namespace {

Status read_pattern(std::string_view text, Pattern& pattern) {
  for (const Pattern known : {Pattern::kSequential, Pattern::kRandom, Pattern::kFiles}) {
    if (text != name_of(known)) continue;
    pattern = known;
    return {};
  }
  return invalid("wanted sequential, random or files");
}

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

std::string_view name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::kSequential:
      return "sequential";
    case Pattern::kRandom:
      return "random";
    case Pattern::kFiles:
      return "files";
  }
  return "unknown";
}

std::vector<Flag> io_flags(IoSettings& settings) {
  return {{"path", false,
           [&settings](const std::string& word) {
             settings.path = word;
             return word.empty() ? invalid("wanted a path") : Status();
           }},
          {"pattern", false,
           [&settings](const std::string& word) { return read_pattern(word, settings.pattern); }},
          {"device", false,
           [&settings](const std::string& word) {
             settings.real = word == "real";
             return word == "real" || word == "model" ? Status() : invalid("wanted real or model");
           }},
          {"kind", false,
           [&settings](const std::string& word) { return read_kinds(word, settings.kinds); }},
          {"seeds", false, [&settings](const std::string& word) {
             return read_whole(word, 1, 100'000, settings.seeds);
           }}};
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

}  // namespace stretto::bench
