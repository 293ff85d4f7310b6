// SPDX-License-Identifier: Apache-2.0
// Trains a classifier of handwritten digits on several workers at once. Each has its own shard of
// the samples; at every step they average their gradients through the servers, or have the servers
// update the parameters with them (--mode). Read main first.
#include <fmt/format.h>
#include <stretto/worker.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "examples/digits/dataset.h"
#include "examples/digits/model.h"
#include "examples/digits/settings.h"

namespace {

using digits::kTensors;
using digits::Tensors;
using stretto::Result;
using stretto::Status;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using namespace std::chrono_literals;

constexpr double kMomentum = 0.9;
constexpr Clock::duration kBetweenLines = 250ms;

/// What the model's tensors are called by when they are exchanged.
using Handles = std::array<stretto::Tensor, kTensors>;

/// The next step computes from the input to the output, so it waits for the first layer first.
int urgency(std::size_t layer) { return static_cast<int>(kTensors - layer); }

Result<Handles> declare(stretto::Worker& worker, const Tensors& shapes,
                        const digits::Settings& settings) {
  stretto::TensorOptions options;
  options.deterministic = settings.deterministic;
  options.update = {.rule = stretto::Rule::kMean};
  if (settings.update == digits::Update::kServer) {
    options.update = {
        .rule = stretto::Rule::kMomentum, .rate = settings.rate, .momentum = kMomentum};
  }
  Handles handles;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const Result<stretto::Tensor> tensor =
        worker.declare(digits::kTensorNames[i], stretto::Dtype::kF32, shapes[i].size(), options);
    if (!tensor.ok()) return tensor.status();
    handles[i] = *tensor;
  }
  return handles;
}

/// Everybody's parameters become those of worker 0.
Status broadcast(stretto::Worker& worker, const Handles& handles, Tensors& parameters) {
  std::array<stretto::Ticket, kTensors> tickets;
  for (std::size_t i = 0; i < kTensors; ++i) {
    tickets[i] = worker.broadcast(handles[i], parameters[i], 0, urgency(i));
  }
  Status outcome;
  for (const stretto::Ticket& ticket : tickets) {  // All of them: they write to the parameters.
    const Status status = ticket.wait();
    if (outcome.ok()) outcome = status;
  }
  return outcome;
}

/// Gives `gradient` to the servers; `target` becomes what they make of everybody's.
Status push_pull(stretto::Worker& worker, const Handles& handles, const Tensors& gradient,
                 Tensors& target) {
  std::array<stretto::Transfer, kTensors> transfers;
  for (std::size_t i = 0; i < kTensors; ++i) {
    transfers[i] = {.tensor = handles[i],
                    .source = std::as_bytes(std::span(gradient[i])),
                    .target = std::as_writable_bytes(std::span(target[i])),
                    .priority = urgency(i)};
  }
  return worker.push_pull(transfers).wait();
}

/// What worker 0 tells while it trains: now and then a line about the steps since the last one.
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

std::size_t bytes_of(const Handles& handles) {
  std::size_t bytes = 0;
  for (const stretto::Tensor& tensor : handles) bytes += tensor.bytes();
  return bytes;
}

Status train(stretto::Worker& worker, const Handles& handles, const digits::Settings& settings,
             const digits::Dataset& dataset, Tensors& parameters) {
  const std::size_t batch = (settings.batch + worker.size() - 1) / worker.size();
  const std::size_t steps = dataset.train.size() / worker.size() / batch * settings.epochs;
  if (steps == 0) {
    return {stretto::Code::kInvalidArgument,
            fmt::format("{} training samples are too few for {} workers with {} in each one's "
                        "batch; lower --batch",
                        dataset.train.size(), worker.size(), batch)};
  }
  digits::Batches batches(digits::shard(dataset.train, worker.rank(), worker.size()), batch,
                          settings.seed + worker.rank());
  digits::Momentum momentum(settings.rate, kMomentum);
  Progress progress(bytes_of(handles));
  Tensors gradient;

  for (std::size_t step = 1; step <= steps; ++step) {
    const double loss = digits::loss_and_gradient(parameters, batches.next(), gradient);
    if (!std::isfinite(loss)) {
      return {stretto::Code::kInvalidArgument,
              fmt::format("the loss is no number any more at step {}; lower --rate, which is {}",
                          step, settings.rate)};
    }
    // The learning rate falls to 0. Said by the gradient, it holds at the servers too.
    digits::scale(gradient, static_cast<double>(steps - step + 1) / static_cast<double>(steps));

    const bool at_servers = settings.update == digits::Update::kServer;
    const Clock::time_point start = Clock::now();
    Status status = push_pull(worker, handles, gradient, at_servers ? parameters : gradient);
    if (!status.ok()) return status;
    progress.count(loss, Clock::now() - start);
    if (!at_servers) momentum.update(parameters, gradient);

    if (worker.rank() == 0 && (progress.due() || step == steps)) {
      progress.print(step, digits::accuracy(parameters, dataset.test));
    }
  }
  return {};
}

/// An error unless all workers have the same parameters, to the bit. Each puts a checksum in its
/// own place and 0 in the others', so that the sum shows them all.
Status check_same(stretto::Worker& worker, const Tensors& parameters) {
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
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // Lines come as they are printed, through pipes too.
  const digits::Settings settings = digits::settings_from_flags(&argc, &argv).or_exit();
  const digits::Dataset dataset = digits::read_digits(settings.data).or_exit();

  stretto::Worker worker = stretto::Worker::join().or_exit();
  Tensors parameters = digits::initial_parameters(settings.hidden, settings.seed + worker.rank());
  const Handles handles = declare(worker, parameters, settings).or_exit();

  broadcast(worker, handles, parameters).or_exit();
  train(worker, handles, settings, dataset, parameters).or_exit();
  check_same(worker, parameters).or_exit();
  worker.leave().or_exit();

  if (worker.rank() == 0) {
    std::printf("test_accuracy=%.3f\n", digits::accuracy(parameters, dataset.test));
  }
}
