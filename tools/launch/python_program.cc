// SPDX-License-Identifier: Apache-2.0
// The words that go before a program in Python.
#include "tools/launch/python_program.h"

#include <unistd.h>

namespace stretto::launch {

std::string python_beside(const std::string& folder) {
  std::string python = folder + "/python3";
  if (::access(python.c_str(), X_OK) == 0) return python;
  return "python3";
}

std::vector<std::string> under_python(std::vector<std::string> command, bool module,
                                      const std::string& python) {
  if (command.empty()) return command;
  if (module) {
    command.insert(command.begin(), {python, "-m"});
  } else if (command.front().ends_with(".py")) {
    command.insert(command.begin(), python);
  }
  return command;
}

}  // namespace stretto::launch
