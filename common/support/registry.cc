#include "common/support/registry.hh"

#include <fmt/format.h>

#include "common/support/nearest.hh"

namespace thinpipe {

void refuse_unknown_name(const std::string& name, const std::vector<std::string>& known, const Place& place) {
  throw InputError(place, fmt::format("unknown name \"{}\"{}", name, suggestion(name, known)));
}

}  // namespace thinpipe
