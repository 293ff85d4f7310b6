// SPDX-License-Identifier: Apache-2.0
// A memoryview of a sample keeps a PyBytes, which holds the lease.
#include "bindings/python/core/reader.h"

#include <pybind11/stl.h>

#include <chrono>
#include <utility>

#include "bindings/python/core/interruptible_wait.h"
#include "common/clock.h"
#include "input/formats/tfrecord.h"

namespace stretto::python {
namespace py = pybind11;

namespace {

py::memoryview view_of(std::span<const std::byte> bytes, const std::shared_ptr<const void>& lease) {
  return py::memoryview(py::cast(PyBytes(bytes, lease)));
}

// File names are bytes; decoded as in Python's tarfile.
py::str name_of_file(std::string_view name) {
  PyObject* const text =
      PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogateescape");
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

input::OnError on_error_named(const std::string& name) {
  if (name == "fail") return input::OnError::kFail;
  if (name == "skip") return input::OnError::kSkip;
  throw py::value_error("on_error is 'fail' or 'skip', not '" + name + "'");
}

input::Method method_named(const std::string& name) {
  if (name == "auto") return input::Method::kAuto;
  if (name == "io_uring") return input::Method::kUring;
  if (name == "threads") return input::Method::kThreads;
  throw py::value_error("method is 'auto', 'io_uring' or 'threads', not '" + name + "'");
}

input::Direct direct_of(std::optional<bool> direct) {
  if (!direct) return input::Direct::kAuto;
  return *direct ? input::Direct::kOn : input::Direct::kOff;
}

}  // namespace

py::buffer_info PyBytes::buffer() const {
  auto* start = const_cast<std::byte*>(bytes_.data());  // The last argument makes it read-only.
  return {start, 1, "B", 1, {static_cast<py::ssize_t>(bytes_.size())}, {1}, true};
}

PyReader::PyReader(const input::Options& options)
    : reader_(std::make_unique<input::Reader>(
          value_of(heard([&] { return input::Reader::open(options); })))) {}

PyReader::~PyReader() {
  if (process_.is_another()) {
    (void)reader_.release();  // NOLINT(bugprone-unused-return-value): its thread is the parent's.
  } else {
    without_gil([&] { reader_.reset(); });
  }
}

std::unique_lock<std::mutex> PyReader::claim() const {
  process_.refuse_others();
  std::unique_lock<std::mutex> lock(waiting_, std::try_to_lock);
  if (!lock) {
    throw std::runtime_error(
        "another thread, or the call that the handler of a signal interrupts, waits for this "
        "Reader; a Reader is one thread's, so give each its own");
  }
  return lock;
}

// The thread that holds the GIL owns the reader, unless a thread waits in it.
input::Reader& PyReader::reader() const {
  (void)claim();
  return *reader_;
}

input::Reader& PyReader::anywhere() const {
  process_.refuse_others();
  return *reader_;
}

std::optional<input::Sample> PyReader::next() {
  const std::unique_lock<std::mutex> lock = claim();
  return value_of(heard([this] { return reader_->next(); }));
}

void PyReader::seek(const std::string& cursor) {
  const std::unique_lock<std::mutex> lock = claim();
  const input::Cursor decoded = value_of(input::Cursor::decode(cursor));
  raise_unless_ok(without_gil([&] { return reader_->seek(decoded); }));
}

namespace {

void bind_options(py::module_& module) {
  using input::Options;
  py::class_<Options>(module, "ReaderOptions")
      .def(py::init<>())
      .def_readwrite("paths", &Options::paths)
      .def_readwrite("record_bytes", &Options::record_bytes)
      .def_readwrite("max_sample_bytes", &Options::max_sample_bytes)
      .def_readwrite("check_crc", &Options::check_crc)
      .def_readwrite("index_folder", &Options::index_folder)
      .def_readwrite("shuffle", &Options::shuffle)
      .def_readwrite("seed", &Options::seed)
      .def_readwrite("shuffle_block_bytes", &Options::shuffle_block_bytes)
      .def_readwrite("shuffle_blocks", &Options::shuffle_blocks)
      .def_readwrite("rank", &Options::rank)
      .def_readwrite("world", &Options::world)
      .def_readwrite("even", &Options::even)
      .def_readwrite("epochs", &Options::epochs)
      .def_readwrite("retries", &Options::retries)
      .def_readwrite("tune", &Options::tune)
      .def_readwrite("depth", &Options::depth)
      .def_readwrite("read_bytes", &Options::read_bytes)
      .def_readwrite("memory_bytes", &Options::memory_bytes)
      .def("set_format",
           [](Options& self, const std::string& name) {
             self.format = value_of(input::format_named(name));
           })
      .def("set_on_error",
           [](Options& self, const std::string& name) { self.on_error = on_error_named(name); })
      .def("set_method",
           [](Options& self, const std::string& name) { self.method = method_named(name); })
      .def("set_direct",
           [](Options& self, std::optional<bool> direct) { self.direct = direct_of(direct); });
}

void bind_sample(py::module_& module) {
  using input::Sample;
  py::class_<PyBytes>(module, "SampleBytes", py::buffer_protocol())
      .def_buffer(&PyBytes::buffer)
      .def("__len__", &PyBytes::size);
  py::class_<Sample>(module, "Sample")
      .def_property_readonly("bytes",
                             [](const Sample& self) { return view_of(self.bytes, self.lease); })
      .def_property_readonly("members",
                             [](const Sample& self) {
                               py::dict members;
                               for (const input::Member& member : self.members) {
                                 members[name_of_file(member.name)] =
                                     view_of(member.bytes, self.lease);
                               }
                               return members;
                             })
      .def_property_readonly("key", [](const Sample& self) { return name_of_file(self.key); })
      .def_property_readonly("path", [](const Sample& self) { return name_of_file(self.path); })
      .def_readonly("offset", &Sample::offset)
      .def_readonly("number", &Sample::number)
      .def_readonly("epoch", &Sample::epoch);
}

py::dict window_of(input::Reader& reader) {
  const input::Window window = reader.take_window();
  py::dict told;
  told["seconds"] = seconds(window.length);
  told["delivered_bytes"] = window.delivered_bytes;
  told["p95_latency"] = seconds(window.p95_latency);
  told["mean_latency"] = seconds(window.mean_latency);
  told["consumer_stall"] = seconds(window.consumer_stall);
  told["requests"] = window.requests;
  return told;
}

}  // namespace

void bind_reader(py::module_& module) {
  bind_options(module);
  bind_sample(module);
  module.def(
      "tfrecord",
      [](const py::bytes& payload) {
        const std::string_view text = payload;
        const std::vector<std::byte> record =
            input::make_tfrecord(std::as_bytes(std::span(text.data(), text.size())));
        return py::bytes(reinterpret_cast<const char*>(record.data()), record.size());
      },
      py::arg("payload"));
  py::class_<PyReader>(module, "Reader")
      .def(py::init<const input::Options&>(), py::arg("options"))
      .def("next", &PyReader::next)
      .def("cursor",
           [](const PyReader& self) { return py::bytes(self.reader().cursor().encode()); })
      .def(
          "cursor_of",
          [](const PyReader& self, std::uint64_t epoch) {
            input::Cursor cursor = self.reader().cursor();
            cursor.epoch = epoch;
            cursor.passed = 0;
            return py::bytes(cursor.encode());
          },
          py::arg("epoch"))
      .def("seek", &PyReader::seek, py::arg("cursor"))
      .def_property_readonly("epoch",
                             [](const PyReader& self) { return self.reader().cursor().epoch; })
      .def_property_readonly("passed",
                             [](const PyReader& self) { return self.reader().cursor().passed; })
      .def_property_readonly("samples",
                             [](const PyReader& self) { return self.reader().samples(); })
      .def_property_readonly("epoch_samples",
                             [](const PyReader& self) { return self.reader().epoch_samples(); })
      .def_property_readonly("fingerprint",
                             [](const PyReader& self) { return self.reader().fingerprint(); })
      .def_property_readonly(
          "method", [](const PyReader& self) { return std::string(self.reader().method()); })
      .def_property_readonly("problem_count",
                             [](const PyReader& self) { return self.reader().problem_count(); })
      .def("problems",
           [](const PyReader& self) {
             py::list words;
             for (const Status& problem : self.reader().problems()) {
               words.append(text_of(problem.text()));
             }
             return words;
           })
      .def(
          "set_knobs",
          [](const PyReader& self, std::uint32_t depth, std::uint32_t read_bytes) {
            self.anywhere().set_knobs({.depth = depth, .read_bytes = read_bytes});
          },
          py::arg("depth"), py::arg("read_bytes"))
      .def("knobs",
           [](const PyReader& self) {
             const input::Knobs knobs = self.anywhere().knobs();
             return std::tuple(knobs.depth, knobs.read_bytes);
           })
      .def("tuning_log", [](const PyReader& self) { return text_of(self.anywhere().tuning_log()); })
      .def("take_window", [](const PyReader& self) { return window_of(self.anywhere()); });
}

}  // namespace stretto::python
