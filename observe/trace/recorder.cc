// SPDX-License-Identifier: Apache-2.0
// The recorder's thread, and the sink that writes trace files.
#include "observe/trace/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "common/descriptor.h"
#include "common/log.h"
#include "observe/trace/file.h"

namespace stretto::trace {
namespace {

constexpr Duration kEvery = 50ms;

class FolderSink final : public Sink {
 public:
  FolderSink(std::string path, std::ofstream file)
      : path_(std::move(path)), file_(std::move(file)) {}

  void take(std::span<const TraceNote> notes) override {
    if (!file_) return;
    write_notes(file_, notes);
    look();
  }
  void end(std::uint64_t dropped, const std::map<std::uint32_t, std::string>& names) override {
    for (const auto& [tensor, name] : names) write_name(file_, tensor, name);
    write_dropped(file_, dropped);
    if (file_.flush()) file_.close();
    look();
    if (dropped > 0) {
      log(Level::kWarning,
          "{} lacks {} records, for which there was no room; raise STRETTO_TRACE_RECORDS", path_,
          dropped);
    }
  }

 private:
  // Logs a failure at once: the job may last for days.
  void look() {
    if (file_ || std::exchange(told_, true)) return;
    log(Level::kWarning,
        "the trace {} is not written in full: {}; make room there, or name another folder "
        "(STRETTO_TRACE)",
        path_, std::strerror(errno));
  }

  std::string path_;
  std::ofstream file_;
  bool told_ = false;
};

// Refuses to overwrite a file of another job, even if that job writes at the same time.
Status claim(const std::string& path, const Node& who) {
  const Descriptor made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  const bool taken = !made.is_open() && errno == EEXIST && job_of_file(path) != who.job;
  if (!taken) return {};  // Opening the file reports other errors.
  return {Code::kInvalidArgument,
          fmt::format("no trace is written: {} is there already, from another job; each job wants "
                      "a STRETTO_TRACE of its own: empty this folder, or name another",
                      path)};
}

}  // namespace

Result<std::unique_ptr<Sink>> folder_sink(const std::string& folder, const Node& who) {
  std::error_code ignored;  // Opening the file reports the failure.
  std::filesystem::create_directories(folder, ignored);
  const std::string path = (std::filesystem::path(folder) / file_name(who)).string();
  if (Status status = claim(path, who); !status.ok()) return status;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  write_identity(file, who);
  if (!file.flush()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("the trace {} cannot be written: {}; is STRETTO_TRACE a folder that "
                              "may be written to?",
                              path, std::strerror(errno)));
  }
  return std::unique_ptr<Sink>(std::make_unique<FolderSink>(path, std::move(file)));
}

Recorder::Recorder(TraceRing& ring, std::unique_ptr<Sink> sink)
    : ring_(ring), sink_(std::move(sink)), thread_([this] { run(); }) {}

Recorder::~Recorder() {
  finish();
  thread_.join();
}

void Recorder::name(std::uint32_t tensor, const std::string& name) {
  MutexLock lock(mutex_);
  if (names_.size() < kMostTensors) names_.try_emplace(tensor, name);
}

void Recorder::finish() {
  MutexLock lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

void Recorder::drain() {
  for (std::span<const TraceNote> notes = ring_.look(); !notes.empty(); notes = ring_.look()) {
    notes = notes.first(std::min(notes.size(), kNotesABlock));
    sink_->take(notes);
    ring_.release(notes.size());
  }
}

void Recorder::run() {
  for (bool over = false; !over;) {
    {
      MutexLock lock(mutex_);
      if (!over_) changed_.wait_until(mutex_, std::chrono::steady_clock::now() + kEvery);
      over = over_;
    }
    drain();
  }
  std::map<std::uint32_t, std::string> names;
  {
    MutexLock lock(mutex_);
    names = names_;
  }
  sink_->end(ring_.dropped(), names);
}

}  // namespace stretto::trace
