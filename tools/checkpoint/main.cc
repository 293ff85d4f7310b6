// SPDX-License-Identifier: Apache-2.0
// stretto-checkpoint: inspects, verifies, exports and prunes a folder of checkpoints.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gflags/gflags.h>

#include <cstdio>

#include "common/config/program.h"
#include "common/files/real_disk.h"
#include "common/flags/flags.h"
#include "common/process/oom_handler.h"
#include "common/text.h"
#include "tools/checkpoint/commands.h"
#include "tools/checkpoint/export.h"

DEFINE_bool(json, false, "inspect: one JSON object instead of lines");
DEFINE_string(to, "", "OUT: export: the file, or of npy the folder, which is made");
DEFINE_uint64(number, 0, "export: of this checkpoint (the newest complete one)");
DEFINE_string(format, "safetensors",
              "safetensors|npy: export: one file, or a folder of a file for each tensor "
              "(safetensors)");
DEFINE_int32(keep, 2, "prune: so many complete ones stay, at least 1 (2)");

namespace stretto::checkpoint {
namespace {

constexpr char kUsage[] =
    "usage: stretto-checkpoint inspect DIR [--json]\n"
    "       stretto-checkpoint verify DIR\n"
    "       stretto-checkpoint export DIR --to OUT [--number N] [--format safetensors|npy]\n"
    "       stretto-checkpoint prune DIR [--keep K]";
constexpr char kMeaning[] =
    "Looks at a folder of Stretto's checkpoints. inspect says which there are, whether each is\n"
    "complete, and what is in it; verify reads every byte of the complete ones; export writes\n"
    "their tensors for other programs; prune removes all before the newest complete ones.";

Status unusable(const std::string& cause) { return {Code::kInvalidArgument, cause}; }

bool is_given(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

// Rejects flags of other commands.
Status check_flags(const std::string& command) {
  constexpr const char* kFlags[][2] = {{"json", "inspect"},
                                       {"to", "export"},
                                       {"number", "export"},
                                       {"format", "export"},
                                       {"keep", "prune"}};
  for (const auto& [flag, of] : kFlags) {
    if (is_given(flag) && command != of) {
      return unusable(fmt::format("--{} is for {}, and this is {}", flag, of, command));
    }
  }
  if (FLAGS_format != "safetensors" && FLAGS_format != "npy") {
    return unusable(fmt::format("'{}' is no --format; wanted safetensors or npy", FLAGS_format));
  }
  if (is_given("number") && FLAGS_number == 0) {
    return unusable("--number wants a checkpoint's number, from 1 on");
  }
  if (FLAGS_keep < 1) {
    return unusable(
        fmt::format("--keep wants how many complete checkpoints stay, at least 1, and "
                    "this is {}",
                    FLAGS_keep));
  }
  return {};
}

// Removes trailing slashes; keeps "/".
std::string trimmed(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Status check_target() {
  const std::string to = trimmed(FLAGS_to);
  const std::string name = to.substr(to.rfind('/') + 1);
  if (to.empty()) return unusable("--to OUT is missing: where shall the tensors go?");
  if (!name.empty() && name != "." && name != "..") return {};
  return unusable(fmt::format("'{}' cannot be made; --to wants the name of something new", to));
}

Status check(const std::vector<std::string>& words) {
  const std::string command = words.empty() ? "" : words.front();
  const bool known =
      command == "inspect" || command == "verify" || command == "export" || command == "prune";
  if (!known || words.size() != 2 || words[1].empty()) {
    return unusable(fmt::format(
        "wanted one of inspect, verify, export and prune, and a folder; found {}; --help says more",
        words.empty() ? "neither" : fmt::format("'{}'", fmt::join(words, " "))));
  }
  Status status = check_flags(command);
  return status.ok() && command == "export" ? check_target() : status;
}

Status act(const std::string& command, const std::string& path) {
  RealDisk disk;
  Folder folder(disk, path);
  const Say say = [](std::string_view line) { std::puts(printable(line).c_str()); };
  if (command == "inspect") return inspect(disk, folder, FLAGS_json, say);
  if (command == "verify") return verify(disk, folder, say);
  if (command == "prune") {
    return prune(disk, folder, static_cast<std::size_t>(FLAGS_keep), say);
  }
  ExportOptions options{.to = trimmed(FLAGS_to)};
  if (FLAGS_number != 0) options.number = FLAGS_number;
  if (FLAGS_format == "npy") options.format = ExportFormat::kNpy;
  return export_checkpoint(disk, folder, options, say);
}

int run(const std::vector<std::string>& words) {
  if (Status status = check(words); !status.ok()) return flags::refuse(status);
  return exit_status(act(words[0], trimmed(words[1])).with_operation(words[0]));
}

}  // namespace
}  // namespace stretto::checkpoint

int main(int argc, char** argv) {
  const std::string help =
      fmt::format("{}\n\n{}", stretto::checkpoint::kUsage, stretto::checkpoint::kMeaning);
  const stretto::flags::Started started = stretto::flags::start(argc, argv, "checkpoint", help);
  stretto::promise_last_words();
  const int status =
      started.exit_status >= 0 ? started.exit_status : stretto::checkpoint::run(started.rest);
  return stretto::finished(status, "checkpoint");
}
