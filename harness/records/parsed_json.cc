// SPDX-License-Identifier: Apache-2.0
#include "harness/records/parsed_json.hh"

namespace thinpipe {

std::optional<ParsedJson> ParsedJson::find(std::string_view name) const {
  std::optional<ParsedJson> found;
  for (const auto member : members()) {
    if (member.key == name) found.emplace(member.value);
  }
  return found;
}

Json ParsedJson::to_json() const {
  using Type = simdjson::dom::element_type;
  switch (element_.type()) {
    case Type::ARRAY: {
      Json out = Json::array();
      for (const auto element : elements()) out.push_back(ParsedJson(element).to_json());
      return out;
    }
    case Type::OBJECT: {
      Json out = Json::object();
      for (const auto member : members()) out[std::string(member.key)] = ParsedJson(member.value).to_json();
      return out;
    }
    case Type::INT64: {
      // nlohmann's parser, too, stores an integer without a minus sign as an unsigned one.
      const std::int64_t value = element_;
      return value < 0 ? Json(value) : Json(static_cast<std::uint64_t>(value));
    }
    case Type::UINT64:
      return std::uint64_t(element_);
    case Type::DOUBLE:
      return double(element_);
    case Type::STRING:
      return get<std::string>();
    case Type::BOOL:
      return bool(element_);
    case Type::NULL_VALUE:
      return nullptr;
  }
  return nullptr;
}

JsonParser::JsonParser() {
  constexpr std::size_t usual_bytes = 64 << 10;  // it grows for larger texts
  if (const auto error = parser_.allocate(usual_bytes, max_json_depth)) throw simdjson::simdjson_error(error);
}

std::optional<ParsedJson> JsonParser::parse(const std::string& text) {
  simdjson::dom::element element;
  if (parser_.parse(text).get(element) != simdjson::SUCCESS) return std::nullopt;
  return ParsedJson(element);
}

}  // namespace thinpipe
