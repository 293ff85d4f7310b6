// SPDX-License-Identifier: Apache-2.0
// The kernels of every level, written once over the vectors of a `Machine`. A level's source file
// is compiled with that level's flags and names its Machine in an unnamed namespace. So the code
// that it instantiates is private, and the linker cannot replace one level's code with another's.
// For the same reason nothing here calls inline functions of the standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/kernels.h"

namespace stretto::ops {

/// Fills a table of kernels. Machine defines the width of its vectors and its f16 conversions:
///   kVectorBytes; Halves and Floats, as many lanes each; Floats widen(Halves); Halves
///   narrow(Floats)
template <class Machine>
class VectorKernels {
 public:
  static constexpr Kernels table() {
    return {.sum = arithmetic<Plus>(),
            .min = extremes<Less>(),
            .max = extremes<Greater>(),
            .product = arithmetic<Times>(),
            .bit_and = bitwise<And>(),
            .bit_or = bitwise<Or>(),
            .bit_xor = bitwise<Xor>(),
            .widen_f16 = widen_f16,
            .widen_bf16 = widen_bf16,
            .narrow_f16 = narrow_f16,
            .narrow_bf16 = narrow_bf16};
  }

 private:
  template <typename Element, std::size_t bytes = Machine::kVectorBytes>
  struct VectorOf {
    using Type [[gnu::vector_size(bytes)]] = Element;
  };
  template <typename Element>
  using Vector = typename VectorOf<Element>::Type;
  using Words = Vector<std::uint32_t>;
  using HalfWords = typename VectorOf<std::uint16_t, Machine::kVectorBytes / 2>::Type;
  using Halves = typename Machine::Halves;
  using Floats = typename Machine::Floats;

  /// Loads the first `bytes` of a vector; the rest is zero.
  template <typename T>
  static T load(const std::byte* from, std::size_t bytes = sizeof(T)) {
    T value{};
    std::memcpy(&value, from, bytes);
    return value;
  }

  /// out = operation(in...), a vector at a time. The tail uses the same operation, so that an
  /// element's bits do not depend on its position.
  template <typename In, typename Out, typename Operation, typename... Inputs>
  static void transform(Operation operation, std::byte* out, std::size_t out_bytes, Inputs... in) {
    const std::size_t whole = out_bytes / sizeof(Out);
    for (std::size_t i = 0; i < whole; ++i) {
      const Out result = operation(load<In>(in + i * sizeof(In))...);
      std::memcpy(out + i * sizeof(Out), &result, sizeof(Out));
    }
    const std::size_t rest = out_bytes % sizeof(Out);
    if (rest == 0) return;
    const std::size_t rest_in = rest * sizeof(In) / sizeof(Out);
    const Out result = operation(load<In>(in + whole * sizeof(In), rest_in)...);
    std::memcpy(out + whole * sizeof(Out), &result, rest);
  }

  // ---- sums and products

  struct Plus {
    template <typename V>
    static V of(V x, V y) {
      return x + y;
    }
  };
  struct Times {
    template <typename V>
    static V of(V x, V y) {
      return x * y;
    }
  };

  /// Modulo a power of two, sums and products of signed and unsigned numbers are equal.
  template <typename Operation>
  static constexpr Kernels::ByDtype arithmetic() {
    return {.f32 = plain<float, Operation>,
            .f64 = plain<double, Operation>,
            .f16 = widened_f16<Operation>,
            .bf16 = widened_bf16<Operation>,
            .i8 = plain<std::uint8_t, Operation>,
            .u8 = plain<std::uint8_t, Operation>,
            .i32 = plain<std::uint32_t, Operation>,
            .i64 = plain<std::uint64_t, Operation>};
  }

  template <typename Element, typename Operation>
  static void plain(std::byte* out, const std::byte* a, const std::byte* b, std::size_t bytes) {
    using V = Vector<Element>;
    transform<V, V>([](V x, V y) { return Operation::of(x, y); }, out, bytes, a, b);
  }

  template <typename Operation>
  static void widened_f16(std::byte* out, const std::byte* a, const std::byte* b,
                          std::size_t bytes) {
    const auto operate = [](Halves x, Halves y) {
      return Machine::narrow(Operation::of(Machine::widen(x), Machine::widen(y)));
    };
    transform<Halves, Halves>(operate, out, bytes, a, b);
  }

  /// Two bf16 per word: each moves to the upper half of an f32, or is already there, so that no
  /// data cross lanes.
  template <typename Operation>
  static void widened_bf16(std::byte* out, const std::byte* a, const std::byte* b,
                           std::size_t bytes) {
    const auto low = [](Words x) { return reinterpret_cast<Vector<float>>(x << 16); };
    const auto high = [](Words x) { return reinterpret_cast<Vector<float>>(x & 0xffff0000U); };
    const auto operate = [low, high](Words x, Words y) {
      const Words of_low = round_to_bf16(Operation::of(low(x), low(y)));
      const Words of_high = round_to_bf16(Operation::of(high(x), high(y)));
      return (of_low >> 16) | (of_high & 0xffff0000U);
    };
    transform<Words, Words>(operate, out, bytes, a, b);
  }

  // ---- bits

  struct And {
    template <typename V>
    static V of(V x, V y) {
      return x & y;
    }
  };
  struct Or {
    template <typename V>
    static V of(V x, V y) {
      return x | y;
    }
  };
  struct Xor {
    template <typename V>
    static V of(V x, V y) {
      return x ^ y;
    }
  };

  /// For integers of any size, since bitwise operations do not cross bytes.
  template <typename Operation>
  static constexpr Kernels::ByDtype bitwise() {
    constexpr Kernels::Reduce kBits = plain<std::uint8_t, Operation>;
    return {.f32 = nullptr,
            .f64 = nullptr,
            .f16 = nullptr,
            .bf16 = nullptr,
            .i8 = kBits,
            .u8 = kBits,
            .i32 = kBits,
            .i64 = kBits};
  }

  // ---- the least and the greatest

  struct Less {
    template <typename V>
    static auto of(V x, V y) {
      return x < y;
    }
  };
  struct Greater {
    template <typename V>
    static auto of(V x, V y) {
      return x > y;
    }
  };

  template <typename Order>
  static constexpr Kernels::ByDtype extremes() {
    return {.f32 = of_floats<std::int32_t, 0x7f800000, Order>,
            .f64 = of_floats<std::int64_t, 0x7ff0000000000000, Order>,
            .f16 = of_floats<std::int16_t, 0x7c00, Order>,
            .bf16 = of_floats<std::int16_t, 0x7f80, Order>,
            .i8 = of_integers<std::int8_t, Order>,
            .u8 = of_integers<std::uint8_t, Order>,
            .i32 = of_integers<std::int32_t, Order>,
            .i64 = of_integers<std::int64_t, Order>};
  }

  template <typename Element, typename Order>
  static void of_integers(std::byte* out, const std::byte* a, const std::byte* b,
                          std::size_t bytes) {
    using V = Vector<Element>;
    const auto first = [](V x, V y) { return Order::of(x, y) ? x : y; };
    transform<V, V>(first, out, bytes, a, b);
  }

  /// Compares the bits as signed integers. They have the order of the numbers once all bits but the
  /// sign of negative numbers are inverted: -0 is less than 0, in either order. NaN wins.
  template <typename Bits, Bits infinity, typename Order>
  static void of_floats(std::byte* out, const std::byte* a, const std::byte* b, std::size_t bytes) {
    using V = Vector<Bits>;
    constexpr int kSignShift = static_cast<int>(sizeof(Bits) * 8 - 1);
    constexpr Bits kAllButSign = static_cast<Bits>(~(Bits{1} << kSignShift));
    const auto place = [](V x) { return x ^ ((x >> kSignShift) & kAllButSign); };
    const auto is_nan = [](V x) { return (x & kAllButSign) > infinity; };
    const auto first = [place, is_nan](V x, V y) {
      return is_nan(x) | (~is_nan(y) & Order::of(place(x), place(y))) ? x : y;
    };
    transform<V, V>(first, out, bytes, a, b);
  }

  // ---- conversions

  static void widen_f16(std::byte* out, const std::byte* in, std::size_t out_bytes) {
    transform<Halves, Floats>([](Halves x) { return Machine::widen(x); }, out, out_bytes, in);
  }

  static void narrow_f16(std::byte* out, const std::byte* in, std::size_t out_bytes) {
    transform<Floats, Halves>([](Floats x) { return Machine::narrow(x); }, out, out_bytes, in);
  }

  /// Rounds f32 to nearest even in its upper 16 bits; the lower bits are unspecified. Makes a NaN
  /// quiet instead, since rounding could carry it into Inf.
  static Words round_to_bf16(Vector<float> value) {
    const Words bits = reinterpret_cast<Words>(value);
    const Words nearest = bits + 0x7fffU + ((bits >> 16) & 1U);
    const Words quiet = bits | 0x00400000U;
    return value == value ? nearest : quiet;  // Only NaN differs from itself.
  }

  static void widen_bf16(std::byte* out, const std::byte* in, std::size_t out_bytes) {
    const auto widen = [](HalfWords x) { return __builtin_convertvector(x, Words) << 16; };
    transform<HalfWords, Words>(widen, out, out_bytes, in);
  }

  static void narrow_bf16(std::byte* out, const std::byte* in, std::size_t out_bytes) {
    const auto narrow = [](Vector<float> x) {
      return __builtin_convertvector(round_to_bf16(x) >> 16, HalfWords);
    };
    transform<Vector<float>, HalfWords>(narrow, out, out_bytes, in);
  }
};

}  // namespace stretto::ops
