// SPDX-License-Identifier: Apache-2.0
// Columns are as wide as their names, so that each row can be printed immediately.
#include "tools/bench/support/output.h"

#include <algorithm>
#include <cstdio>

namespace stretto::bench {
namespace {

constexpr std::size_t kLeastWidth = 9;

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

}  // namespace

void Output::title(std::string_view text) const {
  if (!json_) print(std::string(text));
}

void Output::columns(std::vector<std::string> keys) {
  keys_ = std::move(keys);
  if (!json_) line(keys_);
}

void Output::row(const Record& record) const {
  if (json_) return print(record.json());
  std::vector<std::string> words;
  for (const std::string& key : keys_) words.push_back(record.shown(key));
  line(words);
}

void Output::line(const std::vector<std::string>& words) const {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t width = std::max(kLeastWidth, keys_[i].size());
    text +=
        i == 0 ? fmt::format("{:<{}}", words[i], width) : fmt::format("  {:>{}}", words[i], width);
  }
  print(text);
}

}  // namespace stretto::bench
