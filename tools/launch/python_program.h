// SPDX-License-Identifier: Apache-2.0
// A PROGRAM in Python runs under the Python that this launcher was installed with.
#pragma once

#include <string>
#include <vector>

#include "stretto/status.h"

namespace stretto::launch {

/// The Python beside the launcher in `folder`, as in a virtual environment. For a launcher of the
/// system: the Python of `environment` (VIRTUAL_ENV; empty: none is active), if it has one. Else
/// "python3", which each host finds in its own PATH.
std::string python_beside(const std::string& folder, const std::string& environment);

/// `command` as each worker runs it: a module or a file that ends in .py runs under `python`, any
/// other program as it is. Pure.
std::vector<std::string> under_python(std::vector<std::string> command, bool module,
                                      const std::string& python);

/// The same for a worker that starts in the current folder: a name without a slash that is no file
/// there is a program of `search_path`. Errors: InvalidArgument if a file that ends in .py is
/// missing or is a folder.
Result<std::vector<std::string>> under_python_here(std::vector<std::string> command, bool module,
                                                   const std::string& python,
                                                   const std::string& search_path);

}  // namespace stretto::launch
