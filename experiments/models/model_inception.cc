// SPDX-License-Identifier: Apache-2.0
// Inception-v3 (Szegedy et al., CVPR 2016) in torchvision's form, with its auxiliary head. Branches
// of a block are parallel in the graph.
#include "experiments/models/model_builder.h"

namespace stretto::bench::experiments {
namespace {

constexpr Filter row(std::uint64_t channels, std::uint64_t wide) {
  return {.channels = channels, .kernel_width = wide, .padding_width = wide / 2};
}
constexpr Filter column(std::uint64_t channels, std::uint64_t high) {
  return {.channels = channels,
          .kernel = high,
          .padding = high / 2,
          .kernel_width = 1,
          .padding_width = 0};
}

class Inception {
 public:
  explicit Inception(ModelBuilder& build) : build_(build) {}

  void block(std::string name) {
    block_ = std::move(name);
    next_ = 0;
  }

  /// Applies the filters in sequence.
  Activation run(Activation at, std::initializer_list<Filter> filters) {
    for (const Filter& filter : filters) {
      at = build_.conv_norm(fmt::format("{}.{}", block_, next_++), at, filter);
    }
    return at;
  }

  // A block with an area of 35 x 35.
  Activation a(const Activation& in, std::uint64_t pool_channels) {
    const Filter three{.channels = 96, .kernel = 3, .padding = 1};
    return joined({run(in, {{.channels = 64}}),
                   run(in, {{.channels = 48}, {.channels = 64, .kernel = 5, .padding = 2}}),
                   run(in, {{.channels = 64}, three, three}),
                   run(pooled(in, 3, 1, 1), {{.channels = pool_channels}})});
  }
  Activation b(const Activation& in) {
    return joined({run(in, {{.channels = 384, .kernel = 3, .stride = 2}}),
                   run(in, {{.channels = 64},
                            {.channels = 96, .kernel = 3, .padding = 1},
                            {.channels = 96, .kernel = 3, .stride = 2}}),
                   pooled(in, 3, 2, 0)});
  }

  // A block of 17 x 17: 7 x 7 filters are factored into rows and columns.
  Activation c(const Activation& in, std::uint64_t middle) {
    return joined({run(in, {{.channels = 192}}),
                   run(in, {{.channels = middle}, row(middle, 7), column(192, 7)}),
                   run(in, {{.channels = middle},
                            column(middle, 7),
                            row(middle, 7),
                            column(middle, 7),
                            row(192, 7)}),
                   run(pooled(in, 3, 1, 1), {{.channels = 192}})});
  }
  Activation d(const Activation& in) {
    return joined({run(in, {{.channels = 192}, {.channels = 320, .kernel = 3, .stride = 2}}),
                   run(in, {{.channels = 192},
                            row(192, 7),
                            column(192, 7),
                            {.channels = 192, .kernel = 3, .stride = 2}}),
                   pooled(in, 3, 2, 0)});
  }

  // A block of 8 x 8: row and column filters in parallel.
  Activation e(const Activation& in) {
    std::vector<Activation> branches{run(in, {{.channels = 320}})};
    const Activation narrow = run(in, {{.channels = 384}});
    branches.push_back(run(narrow, {row(384, 3)}));
    branches.push_back(run(narrow, {column(384, 3)}));
    const Activation wide =
        run(in, {{.channels = 448}, {.channels = 384, .kernel = 3, .padding = 1}});
    branches.push_back(run(wide, {row(384, 3)}));
    branches.push_back(run(wide, {column(384, 3)}));
    branches.push_back(run(pooled(in, 3, 1, 1), {{.channels = 192}}));
    return joined(branches);
  }

 private:
  ModelBuilder& build_;
  std::string block_;
  int next_ = 0;
};

}  // namespace

Model inception_v3() {
  ModelBuilder build("inception_v3", {.forward_s = 0.2893, .backward_s = 0.3998},
                     "PipeDream's published profile; each layer's share by its flops");
  Inception inception(build);
  Activation at{{}, 3, 299, 299};
  inception.block("stem");
  at = inception.run(at, {{.channels = 32, .kernel = 3, .stride = 2},
                          {.channels = 32, .kernel = 3},
                          {.channels = 64, .kernel = 3, .padding = 1}});
  at = inception.run(pooled(at, 3, 2, 0), {{.channels = 80}, {.channels = 192, .kernel = 3}});
  at = pooled(at, 3, 2, 0);
  int number = 0;
  const auto next = [&] { inception.block(fmt::format("mixed{}", number++)); };
  for (const std::uint64_t pool_channels : {32U, 64U, 64U}) {
    next();
    at = inception.a(at, pool_channels);
  }
  next();
  at = inception.b(at);
  for (const std::uint64_t middle : {128U, 160U, 160U, 192U}) {
    next();
    at = inception.c(at, middle);
  }
  inception.block("aux");
  Activation aux =
      inception.run(pooled(at, 5, 3, 0), {{.channels = 128}, {.channels = 768, .kernel = 5}});
  aux.height = aux.width = 1;
  build.full("aux.fc", aux, 1000);
  next();
  at = inception.d(at);
  for (int i = 0; i < 2; ++i) {
    next();
    at = inception.e(at);
  }
  at.height = at.width = 1;
  build.full("fc", at, 1000);
  return build.take();
}

}  // namespace stretto::bench::experiments
