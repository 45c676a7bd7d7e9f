#include "common/protocol/event_check.hh"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "common/support/utf8.hh"

namespace thinpipe {
namespace {

enum class Type { number, integer, boolean, text, object };

struct Field {
  std::string_view name;
  Type type;
  bool nullable;
  double least = 0;
  double most = 0;
};

// Sums over a long training run stay within 64 bits.
constexpr double most_seconds = 1e9;
constexpr double most_bytes = 1e12;
constexpr double most_count = 0x1p53;
constexpr double any_number = std::numeric_limits<double>::max();

constexpr Field seconds(std::string_view name) {
  return {name, Type::number, true, 0, most_seconds};
}
constexpr Field count(std::string_view name, bool nullable = false) {
  return {name, Type::integer, nullable, 0, most_count};
}
constexpr Field share(std::string_view name) {
  return {name, Type::number, true, 0, 1};
}
constexpr Field measure(std::string_view name) {
  return {name, Type::number, true, -any_number, any_number};
}

// A field means the same in every event.
constexpr std::array fields = {count("iteration"),
                               count("iterations"),
                               Field{"epoch", Type::number, false, 0, most_count},
                               seconds("train_time_s"),
                               Field{"monotonic_s", Type::number, false, 0, most_seconds},
                               seconds("iteration_time_s"),
                               seconds("load_s"),
                               seconds("compute_s"),
                               seconds("encode_s"),
                               seconds("exchange_s"),
                               seconds("decode_s"),
                               seconds("exposed_exchange_s"),
                               seconds("first_bucket_s"),
                               seconds("processor_s"),
                               Field{"payload_bytes", Type::integer, false, 0, most_bytes},
                               Field{"sent_bytes", Type::number, false, 0, most_bytes},
                               share("test_accuracy"),
                               measure("test_loss"),
                               measure("train_loss"),
                               Field{"applied", Type::boolean, false},
                               Field{"pid", Type::integer, false, 1, most_count},
                               Field{"libraries", Type::object, false},
                               Field{"peak_memory_bytes", Type::integer, true, 0, most_count},
                               count("parameters", true),
                               count("skipped_steps", true),
                               Field{"effective_density", Type::number, true, 0, any_number},
                               Field{"vnmse", Type::number, true, 0, any_number},
                               Field{"parameters_hash", Type::text, true},
                               Field{"hash", Type::text, false},
                               Field{"phase", Type::text, false},
                               Field{"kind", Type::text, false},
                               Field{"message", Type::text, false}};

bool is_of_type(const Json& value, const Field& field) {
  if (value.is_null()) return field.nullable;
  switch (field.type) {
    case Type::number:
      return value.is_number();
    case Type::integer:
      return value.is_number_integer();
    case Type::boolean:
      return value.is_boolean();
    case Type::text:
      return value.is_string();
    case Type::object:
      return value.is_object();
  }
  return false;
}

std::string describe(const Field& field) {
  std::string out;
  if (field.type == Type::boolean) out = "true or false";
  if (field.type == Type::text) out = "a string";
  if (field.type == Type::object) out = "an object";
  if (field.type == Type::integer || field.type == Type::number) {
    out = field.type == Type::integer ? "a whole number" : "a number";
    if (field.most < any_number)
      out += fmt::format(" from {:g} to {:g}", field.least, field.most);
    else if (field.least > -any_number)
      out += fmt::format(" of at least {:g}", field.least);
  }
  return field.nullable ? out + " or null" : out;
}

}  // namespace

void check_event(const Json& event) {
  if (!event.is_object())
    throw UnfitEvent("reported " + printable(event.dump(-1, ' ', false, Json::error_handler_t::replace)) +
                     ", which is not an object");
  for (const Field& field : fields) {
    const auto member = event.find(field.name);
    if (member == event.end()) continue;
    const bool in_bounds =
        !member->is_number() || (member->get<double>() >= field.least && member->get<double>() <= field.most);
    if (is_of_type(*member, field) && in_bounds) continue;
    constexpr std::size_t longest_shown = 100;
    const std::string value = member->dump(-1, ' ', false, Json::error_handler_t::replace);
    throw UnfitEvent(fmt::format("reported an event \"{}\" whose \"{}\" is {}, but must be {}",
                                 printable(event.value("event", std::string())), field.name,
                                 printable(value.substr(0, longest_shown)), describe(field)));
  }
}

}  // namespace thinpipe
