// SPDX-License-Identifier: Apache-2.0
// The formats that tensors are exported in, as text and bytes: shapes, names, the heads of a file
// of safetensors and of numpy's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor_spec.h"

namespace stretto::checkpoint {

/// The shape that a description has, a word such as "2x3" of as many elements; else one dimension.
/// At most 32 dimensions, which is what numpy takes.
std::vector<std::uint64_t> shape_of(std::string_view description, std::uint64_t elements);
std::vector<std::uint64_t> shape_of(const TensorSpec& spec);

/// Whether a description has a shape of as many elements, of whatever dimensions, or says nothing.
bool shape_fits(std::string_view description, std::uint64_t elements);

/// A name that any file system takes, and that leads to no other folder: all but [A-Za-z0-9_-], and
/// '.' in front, is percent-encoded by bytes.
std::string percent_encoded(std::string_view name);

/// Each tensor's file, by its name: percent_encoded(), cut where that is longer than a file's name
/// may be, with a number behind; so no two are the same.
std::vector<std::string> npy_names(const std::vector<std::string_view>& tensors);

/// Each tensor's key in a file of safetensors: its name, or where JSON cannot have that or the
/// format has it for itself ("__metadata__"), percent_encoded(). No two are the same.
std::vector<std::string> safetensors_keys(const std::vector<std::string_view>& tensors);

struct SafetensorsItem {
  std::string key;
  Dtype dtype = Dtype::kF32;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  ///< Of the data.
  std::uint64_t end = 0;
};

/// The head's JSON has at most so many bytes: readers take no more.
inline constexpr std::size_t kMostSafetensorsHead = 100'000'000;

/// All that stands before the data: 8 bytes that say how long the JSON is, the JSON, and spaces, so
/// that the data begins at a multiple of 8. kResource if it is longer than readers take.
Result<std::string> safetensors_head(const std::vector<SafetensorsItem>& items,
                                     const std::map<std::string, std::string>& metadata);

/// All that stands before the data of a file of numpy's, version 1.0. bf16, which numpy has not, is
/// f32 there.
std::string npy_head(Dtype dtype, const std::vector<std::uint64_t>& shape);

/// bf16 as f32, exactly: bytes of elements, the first of them in the middle of one or not.
std::vector<std::byte> widened(std::span<const std::byte> bf16, bool from_middle = false);

}  // namespace stretto::checkpoint
