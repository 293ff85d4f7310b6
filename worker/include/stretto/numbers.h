// SPDX-License-Identifier: Apache-2.0
// Which C++ types are elements of which tensors, so that numbers of another type are refused even
// if their bytes would fit. Public: installed with the worker API.
//
//   static_assert(stretto::is_element_of<float>(stretto::Dtype::kF32));
//   static_assert(stretto::Numbers<std::vector<float>>);
//   static_assert(!stretto::Numbers<std::vector<bool>>);   // no bytes side by side
//
// The compiler decides all of it, except the comparison with a tensor's Dtype, which is known at
// run time. The templates of Worker compare it, and return kInvalidArgument.
#pragma once

#include <cstddef>
#include <ranges>
#include <string_view>
#include <type_traits>

#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto {

/// True if T is the C++ type of an element of `dtype`: exactly `float` and `double`, and for
/// integers any type of the right width and sign. So `long` and `long long` are both i64 where they
/// have eight bytes. f16 and bf16 have no standard type: any class or floating type of two bytes
/// matches, and std::uint16_t, which often keeps their bits. Plain `char`, `bool`, other character
/// types and enumerations match no dtype.
template <typename T>
constexpr bool is_element_of(Dtype dtype) {
  constexpr bool kInteger = std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                            !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
                            !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> &&
                            !std::is_same_v<T, char32_t>;
  constexpr bool kSigned = kInteger && std::is_signed_v<T>;
  switch (dtype) {
    case Dtype::kF32:
      return std::is_same_v<T, float>;
    case Dtype::kF64:
      return std::is_same_v<T, double>;
    case Dtype::kF16:
    case Dtype::kBf16:
      return sizeof(T) == 2 && !std::is_enum_v<T> && std::is_trivially_copyable_v<T> &&
             (kInteger ? !kSigned : !std::is_integral_v<T>);
    case Dtype::kI8:
      return kSigned && sizeof(T) == 1;
    case Dtype::kU8:
      return kInteger && !kSigned && sizeof(T) == 1;
    case Dtype::kI32:
      return kSigned && sizeof(T) == 4;
    case Dtype::kI64:
      return kSigned && sizeof(T) == 8;
  }
  return false;
}

/// The name of elements of T in error texts: "f32"; "f16 or bf16" for a type that may be either; ""
/// for a type that is no element.
template <typename T>
constexpr std::string_view name_of_elements() {
  if (is_element_of<T>(Dtype::kF16)) return "f16 or bf16";
  if (is_element_of<T>(Dtype::kF32)) return "f32";
  if (is_element_of<T>(Dtype::kF64)) return "f64";
  if (is_element_of<T>(Dtype::kI8)) return "i8";
  if (is_element_of<T>(Dtype::kU8)) return "u8";
  if (is_element_of<T>(Dtype::kI32)) return "i32";
  if (is_element_of<T>(Dtype::kI64)) return "i64";
  return "";
}

/// Numbers that are contiguous in memory and can be some tensor's elements: a vector, a span, an
/// array. Raw bytes (std::byte) are none: the overloads for spans of bytes accept them for any
/// dtype, and check only their number.
template <typename R>
concept Numbers = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                  !name_of_elements<std::ranges::range_value_t<R>>().empty();

/// Numbers that may be written, in memory that outlives the call: an lvalue of a container, or a
/// span. A temporary vector does not compile, since the operation would write to it later.
template <typename R>
concept WritableNumbers =
    Numbers<R> && std::ranges::borrowed_range<R> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

}  // namespace stretto
#pragma GCC visibility pop
