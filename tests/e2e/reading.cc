// SPDX-License-Identifier: Apache-2.0
// The worker of the tests of input in whole jobs: it reads a file of records repeatedly, at the
// speed of a modelled device. Either each worker has its own device, one of which is slow until a
// file marks it as repaired. Or all workers share one device, and one worker has less in flight
// than its peers.
#include <fcntl.h>
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <stretto/worker.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "input/reader/open_reader.h"
#include "tests/input/limited_backend.h"

DEFINE_string(data, "", "The file of records");
DEFINE_uint64(record_bytes, 16384, "Of each of them");
DEFINE_string(device, "", "The one device of all workers: a file of 8 bytes; empty: each has one");
DEFINE_double(rate, 20e6, "Bytes a second of a device");
DEFINE_int64(slow_rank, -1, "Rank of the worker whose device is slow");
DEFINE_double(slow_rate, 1e6, "Bytes a second of that");
DEFINE_string(mended, "", "Once this file exists the slow device is as fast as the others");
DEFINE_uint32(depth, 8, "Reads in flight");
DEFINE_int64(modest_rank, -1, "Rank of a worker with less in flight");
DEFINE_uint32(modest_depth, 4, "Reads of that in flight");
DEFINE_bool(direct, false, "Past the page cache: what the real device then takes comes on top");
DEFINE_string(until, "", "The worker ends once this file exists");

namespace stretto {
namespace {

using input::testing::LimitedBackend;
using input::testing::ModelledDevice;
using Account = std::shared_ptr<InputAccount>;

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// The time at which the device is free is in memory of all processes.
Status share(ModelledDevice& device, const std::string& path) {
  const int file = open(path.c_str(), O_RDWR);
  void* memory =
      file < 0 ? MAP_FAILED
               : mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) return {Code::kInvalidArgument, "cannot share " + path};
  device.free_at = static_cast<std::int64_t*>(memory);  // Mapped until the process ends.
  return {};
}

Result<input::Reader> open_data(const Worker& worker, const Account& account,
                                ModelledDevice& device) {
  input::Options options{
      .paths = {FLAGS_data}, .format = input::Format::kRecords, .record_bytes = FLAGS_record_bytes};
  options.epochs = 0;
  options.account = account;
  options.rank = worker.rank();
  options.world = worker.size();
  options.tune = false;
  options.direct = FLAGS_direct ? input::Direct::kOn : input::Direct::kOff;
  options.depth = worker.rank() == FLAGS_modest_rank ? FLAGS_modest_depth : FLAGS_depth;
  return input::open_reader(options,
                            std::make_unique<LimitedBackend>(input::open_threads(), device));
}

Status read(const Worker& worker, const Account& account) {
  ModelledDevice device;
  const bool slow = worker.rank() == FLAGS_slow_rank;
  device.bytes_per_s.store(slow ? FLAGS_slow_rate : FLAGS_rate);
  if (!FLAGS_device.empty()) {
    if (Status status = share(device, FLAGS_device); !status.ok()) return status;
  }
  Result<input::Reader> reader = open_data(worker, account, device);
  if (!reader.ok()) return reader.status();
  while (!exists(FLAGS_until)) {
    Result<std::optional<input::Sample>> sample = reader->next();
    if (!sample.ok()) return sample.status();
    if (slow && exists(FLAGS_mended)) device.bytes_per_s.store(FLAGS_rate);
  }
  return {};
}

Status run() {
  Result<Options> options = Options::from_environment();
  if (!options.ok()) return options.status();
  const Account account = options->input_account = new_input_account();  // Not shared.
  Result<Worker> worker = Worker::join(*options);
  if (!worker.ok()) return worker.status();
  if (Status status = read(*worker, account); !status.ok()) return status;
  return worker->leave();
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  const stretto::Status status = stretto::run();
  if (!status.ok()) std::printf("%s\n", status.text().c_str());
  return status.ok() ? 0 : 1;
}
