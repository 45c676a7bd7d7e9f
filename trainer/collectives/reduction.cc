#include "trainer/collectives/reduction.hh"

#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

#if defined(__x86_64__)
// A float holds the sum of two halves closely enough that rounding it to half rounds the exact sum (Figueroa,
// "When is double rounding innocuous?", 1995: 24 >= 2 * 11 + 2).
__attribute__((target("avx,f16c"))) void add_halves_f16c(void* into, const void* from, std::size_t count) {
  auto* target = static_cast<c10::Half*>(into);
  const auto* source = static_cast<const c10::Half*>(from);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    auto* halves = reinterpret_cast<__m128i*>(target + i);
    const __m256 a = _mm256_cvtph_ps(_mm_loadu_si128(halves));
    const __m256 b = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i)));
    _mm_storeu_si128(halves, _mm256_cvtps_ph(_mm256_add_ps(a, b), _MM_FROUND_TO_NEAREST_INT));
  }
  accumulate<c10::Half, Sum>(target + i, source + i, count - i);
}
#endif

Accumulate half_sum() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c")) return add_halves_f16c;
#endif
  return accumulate<c10::Half, Sum>;
}

template <class T>
Accumulate select(Reduction reduction) {
  return reduction == Reduction::sum ? accumulate<T, Sum> : accumulate<T, Max>;
}

}  // namespace

Accumulate accumulate_function(torch::ScalarType type, Reduction reduction) {
  switch (type) {
    case torch::kFloat32:
      return select<float>(reduction);
    case torch::kFloat16:
      return reduction == Reduction::sum ? half_sum() : accumulate<c10::Half, Max>;
    case torch::kBFloat16:
      return select<c10::BFloat16>(reduction);
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

std::string_view name_of(Reduction reduction) {
  return reduction == Reduction::sum ? "sum" : "max";
}

}  // namespace thinpipe::trainer
