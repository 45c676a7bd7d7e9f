// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/reduce_function.hh"

#include <algorithm>
#include <array>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "trainer/collectives/scaled_block.hh"

namespace thinpipe::trainer {

namespace {

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using Wrapping = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Wrapping>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b)));
    } else {
      return a + b;
    }
  }
};

struct Max {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};

template <class T, class Operation>
void accumulate(void* into, const void* from, std::size_t count) {
  auto* __restrict target = static_cast<T*>(into);
  const auto* __restrict source = static_cast<const T*>(from);
  for (std::size_t i = 0; i < count; ++i) target[i] = Operation::apply(target[i], source[i]);
}

// Small enough for the L1 cache, together with their parts.
constexpr std::size_t block_elements = 2048;

template <class T, class Operation>
void reduce(void* into, std::span<const void* const> parts, std::size_t count) {
  auto* target = static_cast<T*>(into);
  for (std::size_t done = 0; done < count; done += block_elements) {
    const std::size_t block = std::min(block_elements, count - done);
    for (const void* part : parts) {
      accumulate<T, Operation>(target + done, static_cast<const T*>(part) + done, block);
    }
  }
}

template <class T>
void widen(float* __restrict into, const T* __restrict from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) into[i] = static_cast<float>(from[i]);
}
template <class T>
void narrow(T* __restrict into, const float* __restrict from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) into[i] = static_cast<T>(from[i]);
}

template <class T, void (*to_float)(float*, const T*, std::size_t),
          void (*from_float)(T*, const float*, std::size_t)>
void sum_in_float(void* into, std::span<const void* const> parts, std::size_t count) {
  std::array<float, block_elements> sum;
  std::array<float, block_elements> part_of_it;
  auto* target = static_cast<T*>(into);
  for (std::size_t done = 0; done < count; done += block_elements) {
    const std::size_t block = std::min(block_elements, count - done);
    to_float(sum.data(), target + done, block);
    for (const void* part : parts) {
      to_float(part_of_it.data(), static_cast<const T*>(part) + done, block);
      accumulate<float, Sum>(sum.data(), part_of_it.data(), block);
    }
    from_float(target + done, sum.data(), block);
  }
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void widen_f16c(float* into, const c10::Half* from, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(into + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  widen(into + i, from + i, count - i);
}
__attribute__((target("avx,f16c"))) void narrow_f16c(c10::Half* into, const float* from, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
  narrow(into + i, from + i, count - i);
}
#endif

Reduce half_sum() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c")) {
    return sum_in_float<c10::Half, widen_f16c, narrow_f16c>;
  }
#endif
  return sum_in_float<c10::Half, widen<c10::Half>, narrow<c10::Half>>;
}

template <class T>
Reduce select(Reduction reduction) {
  return reduction == Reduction::sum ? reduce<T, Sum> : reduce<T, Max>;
}

}  // namespace

Reduce reduce_function(torch::ScalarType type, Reduction reduction) {
  if (reduction == Reduction::scaled_sum) {
    if (type == torch::kUInt8) return sum_scaled_blocks;
    throw Error(
        fmt::format("all_reduce takes scaled blocks as uint8, but was given {}", c10::toString(type)));
  }
  const bool sum = reduction == Reduction::sum;
  switch (type) {
    case torch::kFloat32:
      return select<float>(reduction);
    case torch::kFloat16:
      return sum ? half_sum() : reduce<c10::Half, Max>;
    case torch::kBFloat16:
      return sum ? sum_in_float<c10::BFloat16, widen<c10::BFloat16>, narrow<c10::BFloat16>>
                 : reduce<c10::BFloat16, Max>;
    case torch::kInt8:
      return select<std::int8_t>(reduction);
    case torch::kInt32:
      return select<std::int32_t>(reduction);
    case torch::kInt64:
      return select<std::int64_t>(reduction);
    default:
      throw Error(
          fmt::format("all_reduce takes float32, float16, bfloat16, int8, int32 or int64, but was given {}",
                      c10::toString(type)));
  }
}

}  // namespace thinpipe::trainer
