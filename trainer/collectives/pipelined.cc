#include "trainer/collectives/pipelined.hh"

#include <algorithm>

namespace thinpipe::trainer {

std::size_t chunk_of(std::size_t bytes) {
  constexpr std::size_t least = std::size_t{4} << 10;
  constexpr std::size_t most = std::size_t{256} << 10;
  return std::clamp(bytes / 256, least, most);
}

}  // namespace thinpipe::trainer
