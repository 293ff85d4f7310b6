// SPDX-License-Identifier: Apache-2.0
// A PROGRAM in Python runs under the Python that this launcher was installed with.
#pragma once

#include <string>
#include <vector>

namespace stretto::launch {

/// The Python beside the launcher in `folder`, as in a virtual environment; else "python3", which
/// each host finds in its own PATH.
std::string python_beside(const std::string& folder);

/// `command` as each worker runs it: a module or a file that ends in .py runs under `python`, any
/// other program as it is.
std::vector<std::string> under_python(std::vector<std::string> command, bool module,
                                      const std::string& python);

}  // namespace stretto::launch
