// SPDX-License-Identifier: Apache-2.0
// DecodeTuner: how many Python threads are to decode samples.
#pragma once

#include <pybind11/pybind11.h>

namespace stretto::python {

/// What the module has of it.
void bind_decoding(pybind11::module_& module);

}  // namespace stretto::python
