// SPDX-License-Identifier: Apache-2.0
// Trains a classifier of handwritten digits on several workers. Each worker has its own shard of
// the samples; --mode selects how workers wait for one another. Read main first.
#include <fmt/core.h>
#include <stretto/checkpoints.h>
#include <stretto/parameters.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/flags/flags.h"
#include "examples/digits/dataset.h"
#include "examples/digits/model.h"
#include "examples/digits/records.h"
#include "examples/digits/settings.h"

namespace {

using digits::kTensors;
using digits::Tensors;
using digits::Views;
using stretto::Parameters;
using stretto::Result;
using stretto::Status;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using namespace std::chrono_literals;

constexpr double kMomentum = 0.9;
constexpr Clock::duration kBetweenLines = 250ms;

/// The common parameters, initialised from worker 0.
Result<Parameters> open(stretto::Worker& worker, const digits::Settings& settings) {
  const Tensors initial =
      digits::initial_parameters(settings.hidden, settings.seed + worker.rank());
  std::vector<stretto::InitialValues> tensors;
  for (std::size_t i = 0; i < kTensors; ++i) {
    tensors.push_back({std::string(digits::kTensorNames[i]), initial[i]});
  }
  stretto::ParameterOptions options = settings.parameters;
  options.optimizer = {.rule = stretto::Rule::kMomentum, .momentum = kMomentum};
  return Parameters::open(worker, tensors, options);
}

Views values_of(const Parameters& parameters) {
  Views all;
  for (std::size_t i = 0; i < kTensors; ++i) all[i] = parameters.values(i);
  return all;
}

/// The learning rate falls to 0 linearly. If every worker's step changes the parameters separately,
/// instead of the mean of all, it is divided by the number of workers.
double rate_at(std::size_t step, std::size_t steps, std::uint32_t workers,
               const digits::Settings& settings) {
  const bool alone = !stretto::has_rounds(settings.parameters.mode);
  const double rate = settings.rate / (alone ? workers : 1);
  return rate * static_cast<double>(steps - step + 1) / static_cast<double>(steps);
}

/// Output of worker 0 during training: periodically a line about the last steps.
class Progress {
 public:
  explicit Progress(std::size_t bytes_per_step) : bytes_per_step_(bytes_per_step) {}

  void count(double loss, Clock::duration exchanging) {
    ++steps_;
    loss_ += loss;
    exchanging_ += exchanging;
  }

  bool due() const { return last_ == Clock::time_point() || Clock::now() - last_ > kBetweenLines; }

  void print(std::size_t step, double accuracy) {
    const double bytes = static_cast<double>(steps_ * bytes_per_step_);
    const double rate = bytes / Seconds(exchanging_).count() / 1e9;
    std::printf("step %zu loss %.3f accuracy %.3f pushed %.3f GB/s pulled %.3f GB/s\n", step,
                loss_ / static_cast<double>(steps_), accuracy, rate, rate);
    last_ = Clock::now();
    steps_ = 0;
    loss_ = 0;
    exchanging_ = {};
  }

 private:
  std::size_t bytes_per_step_;
  Clock::time_point last_;
  std::size_t steps_ = 0;
  double loss_ = 0;
  Clock::duration exchanging_ = {};
};

std::size_t bytes_of(const Parameters& parameters) {
  std::size_t bytes = 0;
  for (const std::span<const float> values : values_of(parameters)) bytes += values.size_bytes();
  return bytes;
}

/// Returns the next minibatch.
using NextBatch = std::function<Result<std::span<const digits::Sample>>()>;

/// This worker's minibatches: of samples in memory, or, with --records, of a file that is written
/// first and read during training.
Result<NextBatch> batches(const stretto::Worker& worker, const digits::Settings& settings,
                          const digits::Dataset& dataset, std::size_t batch) {
  if (settings.records.empty()) {
    auto source = std::make_shared<digits::Batches>(
        digits::shard(dataset.train, worker.rank(), worker.size()), batch,
        settings.seed + worker.rank());
    return NextBatch([source] { return Result(source->next()); });
  }
  const Result<std::string> path =
      digits::write_records(dataset.train, settings.records, settings.magnify);
  if (!path.ok()) return path.status();
  Result<digits::RecordBatches> reading = digits::RecordBatches::open(
      *path, settings.magnify, batch, settings.seed, worker.rank(), worker.size());
  if (!reading.ok()) return reading.status();
  auto source = std::make_shared<digits::RecordBatches>(*std::move(reading));
  return NextBatch([source] { return source->next(); });
}

/// Saves the job under `stretto-launch --checkpoint DIR` whenever a checkpoint is due. A failed
/// checkpoint is a warning, and training continues.
Status save_if_due(stretto::Checkpoints& checkpoints, std::uint64_t step, Parameters& parameters) {
  const Result<bool> due = checkpoints.due(step);
  if (!due.ok()) return due.status();
  if (!*due) return {};
  Status status = parameters.finish();
  if (!status.ok()) return status;
  const Status saved = checkpoints.save(step, parameters.attachments());
  if (!saved.ok()) std::fprintf(stderr, "digits: no checkpoint: %s\n", saved.text().c_str());
  return {};
}

Status train(stretto::Worker& worker, const digits::Settings& settings,
             const digits::Dataset& dataset, Parameters& parameters) {
  const std::size_t batch = (settings.batch + worker.size() - 1) / worker.size();
  const std::size_t steps = dataset.train.size() / worker.size() / batch * settings.epochs;
  if (steps == 0) {
    return {stretto::Code::kInvalidArgument,
            fmt::format("{} training samples are too few for {} workers with {} in each one's "
                        "batch; lower --batch",
                        dataset.train.size(), worker.size(), batch)};
  }
  const Result<NextBatch> next = batches(worker, settings, dataset, batch);
  if (!next.ok()) return next.status();
  Progress progress(bytes_of(parameters));
  Tensors gradient;

  stretto::Checkpoints checkpoints(worker);
  const std::uint64_t made = checkpoints.restored().step;  // By a job that this one resumes, or 0.
  for (std::uint64_t step = 1; step <= made; ++step) {     // The same samples follow.
    const Result<std::span<const digits::Sample>> skipped = (*next)();
    if (!skipped.ok()) return skipped.status();
  }
  if (made > 0 && worker.rank() == 0) std::printf("resumed at step %ju\n", std::uintmax_t{made});

  for (std::size_t step = made + 1; step <= steps; ++step) {
    const Result<std::span<const digits::Sample>> samples = (*next)();
    if (!samples.ok()) return samples.status();
    const double loss = digits::loss_and_gradient(values_of(parameters), *samples, gradient);
    if (!std::isfinite(loss)) {
      return {stretto::Code::kInvalidArgument,
              fmt::format("the loss is no number any more at step {}; lower --rate, which is {}",
                          step, settings.rate)};
    }
    const Clock::time_point start = Clock::now();
    parameters.set_rate(rate_at(step, steps, worker.size(), settings));
    Status status = parameters.step(digits::views(gradient));
    if (!status.ok()) return status;
    progress.count(loss, Clock::now() - start);

    if (worker.rank() == 0 && (progress.due() || step == steps)) {
      progress.print(step, digits::accuracy(values_of(parameters), dataset.test));
    }
    status = save_if_due(checkpoints, step, parameters);
    if (!status.ok()) return status;
  }
  return parameters.finish();
}

/// An error unless all workers have bit-identical parameters. Each puts a checksum in its own
/// element and 0 in the others', so that the sum contains all checksums.
Status check_same(stretto::Worker& worker, const Views& parameters) {
  std::vector<std::int64_t> mine(worker.size());
  std::vector<std::int64_t> all(worker.size());
  mine[worker.rank()] = std::bit_cast<std::int64_t>(digits::checksum(parameters));

  const Result<stretto::Tensor> checksums =
      worker.declare("checksums", stretto::Dtype::kI64, worker.size());
  if (!checksums.ok()) return checksums.status();
  Status status = worker.push_pull(*checksums, mine, all).wait();
  if (!status.ok()) return status;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    return {stretto::Code::kMismatch,
            fmt::format("after training, the parameters of worker {} are not those of worker 0: "
                        "their checksums are {:x} and {:x}",
                        rank, std::bit_cast<std::uint64_t>(all[rank]),
                        std::bit_cast<std::uint64_t>(all[0]))};
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // Line-buffered, through pipes too.
  const int status = stretto::flags::start_with_flags_only(argc, argv, "digits", digits::kUsage);
  if (status >= 0) return status;
  const digits::Settings settings = digits::settings_from_flags().or_exit();
  const digits::Dataset dataset = digits::read_digits(settings.data).or_exit();

  stretto::Worker worker = stretto::Worker::join().or_exit();
  Parameters parameters = open(worker, settings).or_exit();

  train(worker, settings, dataset, parameters).or_exit();
  check_same(worker, values_of(parameters)).or_exit();
  worker.leave().or_exit();

  if (worker.rank() == 0) {
    const Views values = values_of(parameters);
    std::printf("checksum=%016jx\n", std::uintmax_t{digits::checksum(values)});
    std::printf("test_accuracy=%.3f\n", digits::accuracy(values, dataset.test));
  }
}
