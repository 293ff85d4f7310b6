// SPDX-License-Identifier: Apache-2.0
// Output: prints results immediately, as lines of JSON or as a table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/support/record.h"

namespace stretto::bench {

class Output {
 public:
  explicit Output(bool json) : json_(json) {}

  /// A line above the table; not part of the JSON.
  void title(std::string_view text) const;
  /// The table's columns.
  void columns(std::vector<std::string> keys);
  void row(const Record& record) const;

 private:
  void line(const std::vector<std::string>& words) const;

  bool json_;
  std::vector<std::string> keys_;
};

}  // namespace stretto::bench
