// SPDX-License-Identifier: Apache-2.0
// The classes of exceptions are Python's own (stretto/errors.py), so that they can be read there.
#include "bindings/python/core/errors.h"

#include <string>

#include "common/text.h"

namespace stretto::python {
namespace py = pybind11;

namespace {

[[noreturn]] void raise(const py::object& error) {
  PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
  throw py::error_already_set();
}

}  // namespace

py::str text_of(std::string_view bytes) {
  PyObject* const text =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace");
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

void raise_unless_ok(const Status& status) {
  if (status.ok()) return;
  const py::object make = py::module_::import("stretto.errors").attr("of_status");
  raise(make(std::string(name_of(status.code())), printable(status.cause()),
             printable(status.peer()), printable(status.operation())));
}

void Owner::refuse_others() const {
  if (!is_another()) return;
  raise(py::module_::import("stretto.errors").attr("UsedAfterFork")());
}

}  // namespace stretto::python
