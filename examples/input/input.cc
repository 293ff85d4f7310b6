// SPDX-License-Identifier: Apache-2.0
// Reads record files of any format, and tells what is in them and how fast they came.
//
//   build/bin/input tfrecord train-0.tfrecord train-1.tfrecord
#include <stretto/input.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  const bool help = first == "--help" || first == "-h";
  if (help || argc < 3) {
    std::fprintf(help ? stdout : stderr, "usage: %s files|tfrecord|tar FILE...\n", argv[0]);
    return help ? 0 : 2;
  }
  stretto::input::Options options;
  options.format = stretto::input::format_named(argv[1]).or_exit();
  options.paths.assign(argv + 2, argv + argc);
  options.on_error = stretto::input::OnError::kSkip;
  stretto::input::Reader reader = stretto::input::Reader::open(options).or_exit();

  const auto started = std::chrono::steady_clock::now();
  std::size_t samples = 0;
  std::size_t bytes = 0;
  while (std::optional<stretto::input::Sample> sample = reader.next().or_exit()) {
    ++samples;
    bytes += sample->bytes.size();
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
  for (const stretto::Status& problem : reader.problems()) {
    std::fprintf(stderr, "left out: %s\n", problem.text().c_str());
  }
  const std::string method(reader.method());
  std::printf("%zu samples, %zu bytes, %.3f GB/s by %s\n", samples, bytes,
              static_cast<double>(bytes) / 1e9 / taken.count(), method.c_str());
}
