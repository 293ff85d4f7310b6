// SPDX-License-Identifier: Apache-2.0
// The export formats as text and bytes: shapes, names, and the heads of safetensors and numpy
// files.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor_spec.h"

namespace stretto::checkpoint {

/// The shape in a description, a word such as "2x3" with `elements` elements; else one dimension.
/// At most 32 dimensions, numpy's limit.
std::vector<std::uint64_t> shape_of(std::string_view description, std::uint64_t elements);
std::vector<std::uint64_t> shape_of(const TensorSpec& spec);

/// Whether a description has a shape with `elements` elements, or no shape.
bool shape_fits(std::string_view description, std::uint64_t elements);

/// A file name for any file system that leads to no other folder: all but [A-Za-z0-9_-], and a
/// leading '.', is percent-encoded by bytes.
std::string percent_encoded(std::string_view name);

/// Each tensor's file by its name: percent_encoded(), shortened with a number appended if it is too
/// long. So all are unique.
std::vector<std::string> npy_names(const std::vector<std::string_view>& tensors);

/// Each tensor's key in a safetensors file: its name, or percent_encoded() if JSON cannot express
/// it or the format reserves it ("__metadata__"). All are unique.
std::vector<std::string> safetensors_keys(const std::vector<std::string_view>& tensors);

struct SafetensorsItem {
  std::string key;
  Dtype dtype = Dtype::kF32;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  ///< Of the data.
  std::uint64_t end = 0;
};

/// Size limit of the head's JSON: readers accept no larger one.
inline constexpr std::size_t kMostSafetensorsHead = 100'000'000;

/// The bytes before the data: the JSON's length in 8 bytes, the JSON, and spaces that align the
/// data to 8. kResource if readers would reject the length.
Result<std::string> safetensors_head(const std::vector<SafetensorsItem>& items,
                                     const std::map<std::string, std::string>& metadata);

/// The bytes before the data of a numpy file, version 1.0. bf16, which numpy lacks, becomes f32.
std::string npy_head(Dtype dtype, const std::vector<std::uint64_t>& shape);

/// bf16 as f32, exactly. The bytes start at an element, or with `from_middle` within one.
std::vector<std::byte> widened(std::span<const std::byte> bf16, bool from_middle = false);

}  // namespace stretto::checkpoint
