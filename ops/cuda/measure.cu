// SPDX-License-Identifier: Apache-2.0
// Measures the kernels against a device copy of as many bytes in the same run.
#include <algorithm>
#include <functional>
#include <string>

#include "ops/codec.h"
#include "ops/cuda/device.h"
#include "ops/cuda/memory.h"

namespace stretto::ops::cuda {
namespace {

constexpr std::size_t kElements = std::size_t{64} << 20;
constexpr int kRepeats = 20;

/// The shortest time of a run in milliseconds.
float milliseconds(const std::function<Status()>& work) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  must(cudaEventCreate(&begin));
  must(cudaEventCreate(&end));
  float least = 1e9F;
  for (int i = 0; i < kRepeats; ++i) {
    must(cudaEventRecord(begin));
    if (!work().ok()) std::exit(1);
    must(cudaEventRecord(end));
    must(cudaEventSynchronize(end));
    float time = 0;
    must(cudaEventElapsedTime(&time, begin, end));
    least = std::min(least, time);
  }
  must(cudaEventDestroy(begin));
  must(cudaEventDestroy(end));
  return least;
}

/// Prints the rate of the device's copy, in bytes read and written, and then rows relative to it.
class Table {
 public:
  explicit Table(double copy_gb_per_s) : copy_(copy_gb_per_s) {}
  void row(const std::string& name, double bytes_moved, float time) const {
    const double rate = bytes_moved / static_cast<double>(time) / 1e6;
    std::printf("%-24s %10.1f GB/s moved  ratio %.3f\n", name.c_str(), rate, rate / copy_);
  }

 private:
  double copy_;
};

void measure() {
  constexpr double kBytes = kElements * 4.0;
  const Array<float> a(kElements);
  const Array<float> b(kElements);
  const Array<std::byte> small(kElements * 2);
  const Shape shape{.elements = kElements};
  const Array<double> sums(kElements / 1024);
  const Array<std::uint64_t> streams(shape.parts());
  auto* halves = reinterpret_cast<std::uint16_t*>(small.data());
  const float copy = milliseconds([&] {
    must(cudaMemcpyAsync(a.data(), b.data(), kElements * 4, cudaMemcpyDeviceToDevice));
    return Status();
  });
  const Table table(2 * kBytes / static_cast<double>(copy) / 1e6);
  table.row("copy", 2 * kBytes, copy);
  table.row("sum", 3 * kBytes,
            milliseconds([&] { return sum(a.data(), b.data(), kElements, nullptr); }));
  table.row("to fp16", 1.5 * kBytes, milliseconds([&] {
              return narrow(Codec::kFp16, halves, a.data(), kElements, nullptr);
            }));
  table.row("from fp16", 1.5 * kBytes, milliseconds([&] {
              return cuda::widen(Codec::kFp16, a.data(), halves, kElements, nullptr);
            }));
  table.row("to bf16", 1.5 * kBytes, milliseconds([&] {
              return narrow(Codec::kBf16, halves, a.data(), kElements, nullptr);
            }));
  table.row("onebit encode", kBytes * 33 / 32, milliseconds([&] {
              return encode_onebit(shape, true, a.data(), small.data(), sums.data(), nullptr);
            }));
  table.row("onebit decode and add", kBytes * 65 / 32, milliseconds([&] {
              return decode_add_onebit(shape, small.data(), a.data(), nullptr);
            }));
  const CodecSpec dithering{.codec = Codec::kDithering, .k = 127};
  table.row("dithering encode", kBytes * 2.25, milliseconds([&] {
              return encode_dithering(dithering, shape, streams.data(), a.data(), small.data(),
                                      nullptr);
            }));
  table.row("dithering decode and add", kBytes * 2.25, milliseconds([&] {
              return decode_add_dithering(dithering, shape, small.data(), a.data(), nullptr);
            }));
  for (const double k : {0.01, 0.1}) {
    const CodecSpec topk{.codec = Codec::kTopk, .k = k};
    const std::string name = "topk " + std::to_string(k).substr(0, 4);
    table.row(name + " encode", kBytes * (1 + 2 * k), milliseconds([&] {
                return encode_topk(topk, shape, a.data(), small.data(), nullptr);
              }));
    table.row(name + " decode and add", kBytes * 4 * k, milliseconds([&] {
                return decode_add_topk(topk, shape, small.data(), a.data(), nullptr);
              }));
  }
}

}  // namespace
}  // namespace stretto::ops::cuda

int main() { stretto::ops::cuda::measure(); }
