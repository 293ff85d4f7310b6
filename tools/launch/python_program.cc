// SPDX-License-Identifier: Apache-2.0
// Finds the interpreter for a program in Python.
#include "tools/launch/python_program.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>

#include "tools/launch/process/system.h"

namespace stretto::launch {
namespace {

bool is_executable(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

bool is_python_file(const std::vector<std::string>& command, bool module) {
  return !module && !command.empty() && command.front().ends_with(".py");
}

}  // namespace

std::string python_beside(const std::string& folder, const std::string& environment) {
  // A package of the system says nothing about which Python its user has chosen.
  if (folder != "/usr/bin") {
    std::string python = folder + "/python3";
    return is_executable(python) ? python : "python3";
  }
  std::string python = environment + "/bin/python3";
  return !environment.empty() && is_executable(python) ? python : "python3";
}

std::vector<std::string> under_python(std::vector<std::string> command, bool module,
                                      const std::string& python) {
  if (command.empty()) return command;
  if (module) {
    command.insert(command.begin(), {python, "-m"});
  } else if (is_python_file(command, module)) {
    // Python would read the name as an option.
    if (command.front().starts_with("-")) command.front().insert(0, "./");
    command.insert(command.begin(), python);
  }
  return command;
}

Result<std::vector<std::string>> under_python_here(std::vector<std::string> command, bool module,
                                                   const std::string& python,
                                                   const std::string& search_path) {
  if (!is_python_file(command, module)) return under_python(std::move(command), module, python);
  const std::string name = command.front();
  std::error_code error;
  const bool is_path = name.find('/') != std::string::npos;
  const std::filesystem::file_status found = std::filesystem::status(name, error);
  if (std::filesystem::is_directory(found)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("'{}' is a folder, wanted a file of Python; -m runs a module", name));
  }
  if (std::filesystem::exists(found)) return under_python(std::move(command), module, python);
  if (!is_path && find_program(name, search_path).ok()) return command;
  return Status(
      Code::kInvalidArgument,
      fmt::format("no file '{}' in {}{}; check its name, or say with --chdir where workers run",
                  name, std::filesystem::current_path(error).string(),
                  is_path ? "" : ", and no program of that name in PATH"));
}

}  // namespace stretto::launch
