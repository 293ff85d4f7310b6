// SPDX-License-Identifier: Apache-2.0
// Digits come from the file of the digits example; clusters are drawn from a fixed seed.
#include "examples/converge/tasks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "examples/digits/dataset.h"

namespace converge {

namespace {

using stretto::Code;
using stretto::Result;
using stretto::Status;
using Layers = std::vector<std::unique_ptr<Layer>>;

constexpr std::size_t kDimensions = 128;
constexpr std::size_t kClusterClasses = 16;
constexpr std::size_t kCloudsPerClass = 4;

Samples samples_of(const std::vector<digits::Sample>& digits) {
  Samples samples{.inputs = digits::kPixels, .features = {}, .labels = {}};
  for (const digits::Sample& digit : digits) {
    samples.features.insert(samples.features.end(), digit.pixels.begin(), digit.pixels.end());
    samples.labels.push_back(digit.label);
  }
  return samples;
}

Layers layers_named(std::string_view name) {
  Layers layers;
  if (name == "softmax") {
    layers.push_back(dense(digits::kPixels, digits::kClasses));
  } else if (name == "mlp") {
    layers.push_back(dense(digits::kPixels, 64));
    layers.push_back(dense(64, digits::kClasses));
  } else if (name == "conv") {
    layers.push_back(convolution(8, 1, 8, 1));
    layers.push_back(convolution(8, 8, 16, 2));
    layers.push_back(dense(16 * 16, digits::kClasses));
  } else if (name == "clusters") {
    layers.push_back(dense(kDimensions, 256));
    layers.push_back(dense(256, kClusterClasses));
  }
  return layers;
}

/// Points around the clouds' centres.
Samples draw(std::size_t count, const std::vector<float>& centres, std::mt19937_64& random) {
  Samples samples{.inputs = kDimensions, .features = {}, .labels = {}};
  std::normal_distribution<float> noise(0, 0.35F);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t cloud = random() % (kClusterClasses * kCloudsPerClass);
    samples.labels.push_back(cloud % kClusterClasses);
    for (std::size_t d = 0; d < kDimensions; ++d) {
      samples.features.push_back(centres[cloud * kDimensions + d] + noise(random));
    }
  }
  return samples;
}

Task clusters(Layers layers) {
  constexpr std::size_t kTrain = 8000;
  constexpr std::size_t kTest = 400;
  std::mt19937_64 random(20'221'121);
  std::normal_distribution<float> normal(0, 3 / std::sqrt(static_cast<float>(kDimensions)));
  std::vector<float> centres(kClusterClasses * kCloudsPerClass * kDimensions);
  std::ranges::generate(centres, [&] { return normal(random); });
  Samples train = draw(kTrain, centres, random);
  Samples test = draw(kTest, centres, random);
  return {"clusters", std::move(train), std::move(test), Network(std::move(layers))};
}

}  // namespace

Result<Task> make_task(std::string_view name, const std::string& digits) {
  Layers layers = layers_named(name);
  if (layers.empty()) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("wanted a task of softmax, mlp, conv and clusters, found '{}'", name));
  }
  if (name == "clusters") return clusters(std::move(layers));
  const Result<digits::Dataset> dataset = digits::read_digits(digits);
  if (!dataset.ok()) return dataset.status();
  return Task{std::string(name), samples_of(dataset->train), samples_of(dataset->test),
              Network(std::move(layers))};
}

Batches::Batches(std::size_t samples, std::size_t rank, std::size_t workers, std::size_t size,
                 std::uint64_t seed)
    : random_(seed) {
  for (std::size_t i = rank; i < samples; i += workers) order_.push_back(i);
  size_ = std::min(size, order_.size());
  position_ = order_.size();
}

std::span<const std::size_t> Batches::next() {
  if (order_.size() - position_ < size_) {
    std::ranges::shuffle(order_, random_);
    position_ = 0;
  }
  position_ += size_;
  return std::span(order_).subspan(position_ - size_, size_);
}

}  // namespace converge
