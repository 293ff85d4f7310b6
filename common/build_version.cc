// SPDX-License-Identifier: Apache-2.0
// One small file, read when asked.
#include "common/build_version.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "common/version.h"

namespace stretto {
namespace {

std::string_view version_of(std::string_view text) { return text.substr(0, text.find(" (")); }

}  // namespace

std::string version_text(std::string_view version, std::string_view commit) {
  return commit.empty() ? std::string(version) : fmt::format("{} ({})", version, commit);
}

std::string build_version() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string commit;
  std::ifstream file(program.parent_path().parent_path() / "share" / "stretto" / "commit");
  std::getline(file, commit);
  return version_text(kVersion, commit);
}

bool is_same_build(std::string_view one, std::string_view two) {
  const bool both_name_commits = version_of(one) != one && version_of(two) != two;
  return both_name_commits ? one == two : version_of(one) == version_of(two);
}

}  // namespace stretto
