#include "trainer/tensors/pickle.hh"

#include <bit>
#include <charconv>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "trainer/tensors/pickle_text.hh"

namespace thinpipe::trainer {
namespace {

// Named after their effect; Python's module pickletools has its own names.
enum class Opcode : std::uint8_t {
  mark = '(',
  stop = '.',
  pop = '0',
  pop_mark = '1',
  duplicate = '2',
  binary_float = 'G',
  int_4 = 'J',
  int_1 = 'K',
  int_2 = 'M',
  none = 'N',
  persistent_id = 'Q',
  reduce = 'R',
  string = 'T',
  short_string = 'U',
  unicode = 'X',
  append = 'a',
  build = 'b',
  global = 'c',
  dict = 'd',
  empty_dict = '}',
  appends = 'e',
  get_1 = 'h',
  get_4 = 'j',
  list = 'l',
  empty_list = ']',
  put_1 = 'q',
  put_4 = 'r',
  set_item = 's',
  tuple = 't',
  empty_tuple = ')',
  set_items = 'u',
  bytes = 'B',
  short_bytes = 'C',
  protocol = 0x80,
  new_object = 0x81,
  tuple_1 = 0x85,
  tuple_2 = 0x86,
  tuple_3 = 0x87,
  new_true = 0x88,
  new_false = 0x89,
  long_1 = 0x8a,
  long_4 = 0x8b,
  short_unicode = 0x8c,
  long_unicode = 0x8d,
  long_bytes = 0x8e,
  empty_set = 0x8f,
  add_items = 0x90,
  frozen_set = 0x91,
  new_object_with_keywords = 0x92,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95,
  byte_array = 0x96,
  // Followed by a line of text: protocols 0 and 1.
  text_float = 'F',
  text_int = 'I',
  text_long = 'L',
  text_persistent_id = 'P',
  text_string = 'S',
  text_unicode = 'V',
  text_get = 'g',
  text_put = 'p',
};

// The machine that runs a pickle's opcodes: a stack, a stack of marks in it, and a memory.
class Machine {
 public:
  Machine(std::span<const char> bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  Pickle run() {
    while (pickle_.root == nullptr) step();
    pickle_.size = position_;
    return std::move(pickle_);
  }

 private:
  void step() {
    const auto opcode = static_cast<Opcode>(take(1)[0]);
    if (!step_constant(opcode) && !step_text(opcode) && !step_container(opcode) && !step_object(opcode)) {
      fail(fmt::format("opcode 0x{:02x} does not occur in files of tensors", static_cast<unsigned>(opcode)));
    }
  }

  bool step_constant(Opcode opcode) {
    switch (opcode) {
      case Opcode::none:
        return push(PickleOther{});
      case Opcode::new_true:
        return push(true);
      case Opcode::new_false:
        return push(false);
      case Opcode::int_4:
        return push(std::int64_t{static_cast<std::int32_t>(number(4))});
      case Opcode::int_1:
        return push(static_cast<std::int64_t>(number(1)));
      case Opcode::int_2:
        return push(static_cast<std::int64_t>(number(2)));
      case Opcode::long_1:
        return push_long(number(1));
      case Opcode::long_4:
        return push_long(number(4));
      case Opcode::binary_float:
        return push(big_endian_double());
      case Opcode::short_string:
      case Opcode::short_unicode:
        return push(text(number(1)));
      case Opcode::string:
      case Opcode::unicode:
        return push(text(number(4)));
      case Opcode::long_unicode:
        return push(text(number(8)));
      case Opcode::short_bytes:
        return skip(number(1));
      case Opcode::bytes:
        return skip(number(4));
      case Opcode::long_bytes:
      case Opcode::byte_array:
        return skip(number(8));
      default:
        return false;
    }
  }

  bool step_text(Opcode opcode) {
    switch (opcode) {
      case Opcode::text_int:
      case Opcode::text_long:
        return push_text_integer(line());
      case Opcode::text_float:
        return push(parsed<double>(line()));
      case Opcode::text_string:
        return push_text(unquoted(line()));
      case Opcode::text_unicode:
        return push_text(raw_unicode_text(line()));
      case Opcode::text_persistent_id:
        push(line());
        return push(PickleReference{pop(1)[0]});
      case Opcode::text_put:
        return store(parsed<std::uint64_t>(line()));
      case Opcode::text_get:
        return recall(parsed<std::uint64_t>(line()));
      default:
        return false;
    }
  }

  bool step_container(Opcode opcode) {
    switch (opcode) {
      case Opcode::mark:
        marks_.push_back(stack_.size());
        return true;
      case Opcode::empty_tuple:
      case Opcode::empty_list:
      case Opcode::empty_set:
        return push(PickleSequence{});
      case Opcode::empty_dict:
        return push(PickleDict{});
      case Opcode::tuple_1:
        return push(PickleSequence{pop(1)});
      case Opcode::tuple_2:
        return push(PickleSequence{pop(2)});
      case Opcode::tuple_3:
        return push(PickleSequence{pop(3)});
      case Opcode::tuple:
      case Opcode::list:
      case Opcode::frozen_set:
        return push(PickleSequence{pop_to_mark()});
      case Opcode::dict:
        return push_dict(pop_to_mark());
      case Opcode::append:
        return append(pop(1));
      case Opcode::appends:
      case Opcode::add_items:
        return append(pop_to_mark());
      case Opcode::set_item:
        return set_items(pop(2));
      case Opcode::set_items:
        return set_items(pop_to_mark());
      default:
        return false;
    }
  }

  bool step_object(Opcode opcode) {
    switch (opcode) {
      case Opcode::protocol:
        take(1);
        return true;
      case Opcode::frame:
        take(8);
        return true;
      case Opcode::put_1:
        return store(number(1));
      case Opcode::put_4:
        return store(number(4));
      case Opcode::memoize:
        return store(memory_.size());
      case Opcode::get_1:
        return recall(number(1));
      case Opcode::get_4:
        return recall(number(4));
      case Opcode::pop:
        pop(1);
        return true;
      case Opcode::pop_mark:
        pop_to_mark();
        return true;
      case Opcode::duplicate:
        stack_.push_back(top());
        return true;
      case Opcode::global:
        return push_global();
      case Opcode::stack_global:
        return push_stack_global(pop(2));
      case Opcode::reduce:
      case Opcode::new_object:
        return push_call(pop(2));
      case Opcode::new_object_with_keywords:
        return push_call(pop(3));
      case Opcode::build:
        return build(pop(1)[0]);
      case Opcode::persistent_id:
        return push(PickleReference{pop(1)[0]});
      case Opcode::stop:
        pickle_.root = pop(1)[0];
        return true;
      default:
        return false;
    }
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(fmt::format("{} is damaged or not a file of tensors: {} (byte {} of the pickle)", source_,
                            reason, position_));
  }

  std::span<const char> take(std::uint64_t count) {
    if (count > bytes_.size() - position_) fail("it ends too early");
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  std::uint64_t number(std::size_t width) {  // little-endian
    std::uint64_t value = 0;
    std::size_t shift = 0;
    for (const char byte : take(width)) {
      value |= std::uint64_t{static_cast<std::uint8_t>(byte)} << shift;
      shift += 8;
    }
    return value;
  }

  double big_endian_double() {
    std::uint64_t bits = 0;
    for (const char byte : take(8)) bits = bits << 8U | static_cast<std::uint8_t>(byte);
    return std::bit_cast<double>(bits);
  }

  std::string text(std::uint64_t length) {
    const auto taken = take(length);
    return {taken.begin(), taken.end()};
  }

  std::string line() {
    std::string out;
    for (char byte = take(1)[0]; byte != '\n'; byte = take(1)[0]) out += byte;
    return out;
  }

  template <class Number>
  Number parsed(const std::string& text) const {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) fail("a number is malformed");
    return number;
  }

  // Protocol 0 writes booleans as these two numbers.
  bool push_text_integer(std::string text) {
    if (text == "00" || text == "01") return push(text == "01");
    if (text.ends_with('L')) text.pop_back();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument)
      fail("a number is malformed");
    if (error == std::errc::result_out_of_range) return push(PickleOther{});
    return push(number);
  }

  bool push_text(std::optional<std::string> text) {
    if (!text) fail("a text is malformed");
    return push(*std::move(text));
  }

  // Reads a number in two's complement, of any width.
  bool push_long(std::uint64_t width) {
    if (width > 8) return skip(width);
    std::uint64_t bits = number(static_cast<std::size_t>(width));
    const bool negative = width > 0 && (bits >> (8 * width - 1)) != 0;
    if (negative && width < 8) bits |= ~std::uint64_t{0} << (8 * width);
    return push(static_cast<std::int64_t>(bits));
  }

  bool skip(std::uint64_t count) {
    take(count);
    return push(PickleOther{});
  }

  // These functions execute an opcode, and return true for step().
  template <class Content>
  bool push(Content content) {
    pickle_.values.push_back({std::move(content)});
    stack_.push_back(&pickle_.values.back());
    return true;
  }

  // Entries below the last mark may be taken only after the mark is removed.
  std::vector<const PickleValue*> pop(std::size_t count) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor < count) fail("it takes more from the stack than it contains");
    std::vector<const PickleValue*> out(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return out;
  }

  std::vector<const PickleValue*> pop_to_mark() {
    if (marks_.empty()) fail("it looks for a missing mark");
    auto out = pop(stack_.size() - marks_.back());
    marks_.pop_back();
    return out;
  }

  PickleValue* top() {
    if (stack_.size() == (marks_.empty() ? 0 : marks_.back()))
      fail("it takes more from the stack than it contains");
    return stack_.back();
  }

  bool store(std::uint64_t slot) {
    memory_[slot] = top();
    return true;
  }

  bool recall(std::uint64_t slot) {
    const auto found = memory_.find(slot);
    if (found == memory_.end()) fail("it loads a value that it has not stored");
    stack_.push_back(found->second);
    return true;
  }

  // Appends to the list on top. Items of an unknown object are ignored.
  bool append(const std::vector<const PickleValue*>& items) {
    if (auto* list = std::get_if<PickleSequence>(&top()->content)) {
      list->items.insert(list->items.end(), items.begin(), items.end());
    }
    return true;
  }

  // A state may change a call's result; a container's state, its attributes, is ignored.
  bool build(const PickleValue* state) {
    if (auto* call = std::get_if<PickleCall>(&top()->content)) call->state = state;
    return true;
  }

  bool set_items(const std::vector<const PickleValue*>& items) {
    if (items.size() % 2 != 0) fail("a dict has a key without a value");
    if (auto* dict = std::get_if<PickleDict>(&top()->content)) {
      for (std::size_t i = 0; i < items.size(); i += 2) dict->items.emplace_back(items[i], items[i + 1]);
    }
    return true;
  }

  bool push_dict(const std::vector<const PickleValue*>& items) {
    push(PickleDict{});
    return set_items(items);
  }

  bool push_global() {
    const std::string module = line();
    return push(PickleGlobal{module + "." + line()});
  }

  bool push_stack_global(const std::vector<const PickleValue*>& parts) {
    const auto* module = parts[0]->as<std::string>();
    const auto* name = parts[1]->as<std::string>();
    if (module == nullptr || name == nullptr) fail("a function has no name");
    return push(PickleGlobal{*module + "." + *name});
  }

  // Ignores keyword arguments, a third part: no function that creates a tensor has any.
  bool push_call(const std::vector<const PickleValue*>& parts) {
    const auto* global = parts[0]->as<PickleGlobal>();
    const auto* arguments = parts[1]->as<PickleSequence>();
    if (global == nullptr || global->name != "collections.OrderedDict" || arguments == nullptr) {
      return push(PickleCall{.callee = parts[0], .arguments = parts[1]});
    }
    return push_dict(arguments->items.empty() ? std::vector<const PickleValue*>()
                                              : flattened(*arguments->items[0]));
  }

  // Python 2 gives an OrderedDict its items as a list of pairs.
  std::vector<const PickleValue*> flattened(const PickleValue& value) {
    std::vector<const PickleValue*> items;
    if (const auto* pairs = value.as<PickleSequence>()) {
      for (const PickleValue* pair : pairs->items) {
        const auto* parts = pair->as<PickleSequence>();
        if (parts == nullptr || parts->items.size() != 2) fail("an OrderedDict is not made of pairs");
        items.insert(items.end(), parts->items.begin(), parts->items.end());
      }
      // Each pair takes bytes of the pickle, but many dicts of the same pairs would fill the memory.
      copied_ += pairs->items.size();
      if (copied_ > bytes_.size()) fail("it creates too many dicts from the same list");
    }
    return items;
  }

  std::span<const char> bytes_;
  const std::string& source_;
  std::size_t position_ = 0;
  std::size_t copied_ = 0;  // pairs in lists that dicts were created from
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;  // stack sizes
  std::map<std::uint64_t, PickleValue*> memory_;
  Pickle pickle_;
};

}  // namespace

const PickleValue* PickleDict::find(std::string_view name) const {
  const PickleValue* found = nullptr;
  for (const auto& [key, value] : items) {
    if (const auto* text = key->as<std::string>(); text != nullptr && *text == name) found = value;
  }
  return found;
}

Pickle read_pickle(std::span<const char> bytes, const std::string& source) {
  return Machine(bytes, source).run();
}

}  // namespace thinpipe::trainer
