// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/pickle.hh"

#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "trainer/tensors/pickle_bytes.hh"
#include "trainer/tensors/pickle_opcode.hh"
#include "trainer/tensors/pickle_text.hh"

namespace thinpipe::trainer {
namespace {

// The machine that runs a pickle's opcodes: a stack, a stack of marks in it, and a memory.
class Machine {
 public:
  Machine(std::span<const char> bytes, const std::string& source) : bytes_(bytes, source) {}

  Pickle run() {
    while (pickle_.root == nullptr) step();
    pickle_.size = bytes_.position();
    return std::move(pickle_);
  }

 private:
  void step() {
    const auto opcode = static_cast<PickleOpcode>(bytes_.take(1)[0]);
    if (!step_constant(opcode) && !step_text(opcode) && !step_container(opcode) && !step_object(opcode)) {
      bytes_.fail(
          fmt::format("opcode 0x{:02x} does not occur in files of tensors", static_cast<unsigned>(opcode)));
    }
  }

  bool step_constant(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::none:
        return push(PickleOther{});
      case PickleOpcode::new_true:
        return push(true);
      case PickleOpcode::new_false:
        return push(false);
      case PickleOpcode::int_4:
        return push(std::int64_t{static_cast<std::int32_t>(bytes_.number(4))});
      case PickleOpcode::int_1:
        return push(static_cast<std::int64_t>(bytes_.number(1)));
      case PickleOpcode::int_2:
        return push(static_cast<std::int64_t>(bytes_.number(2)));
      case PickleOpcode::long_1:
        return push_long(bytes_.number(1));
      case PickleOpcode::long_4:
        return push_long(bytes_.number(4));
      case PickleOpcode::binary_float:
        return push(bytes_.big_endian_double());
      case PickleOpcode::short_string:
      case PickleOpcode::short_unicode:
        return push(bytes_.text(bytes_.number(1)));
      case PickleOpcode::string:
      case PickleOpcode::unicode:
        return push(bytes_.text(bytes_.number(4)));
      case PickleOpcode::long_unicode:
        return push(bytes_.text(bytes_.number(8)));
      case PickleOpcode::short_bytes:
        return skip(bytes_.number(1));
      case PickleOpcode::bytes:
        return skip(bytes_.number(4));
      case PickleOpcode::long_bytes:
      case PickleOpcode::byte_array:
        return skip(bytes_.number(8));
      default:
        return false;
    }
  }

  bool step_text(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::text_int:
      case PickleOpcode::text_long:
        return push_text_integer(bytes_.line());
      case PickleOpcode::text_float:
        return push(bytes_.parsed<double>(bytes_.line()));
      case PickleOpcode::text_string:
        return push_text(unquoted(bytes_.line()));
      case PickleOpcode::text_unicode:
        return push_text(raw_unicode_text(bytes_.line()));
      case PickleOpcode::text_persistent_id:
        push(bytes_.line());
        return push(PickleReference{pop(1)[0]});
      case PickleOpcode::text_put:
        return store(bytes_.parsed<std::uint64_t>(bytes_.line()));
      case PickleOpcode::text_get:
        return recall(bytes_.parsed<std::uint64_t>(bytes_.line()));
      default:
        return false;
    }
  }

  bool step_container(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::mark:
        marks_.push_back(stack_.size());
        return true;
      case PickleOpcode::empty_tuple:
      case PickleOpcode::empty_list:
      case PickleOpcode::empty_set:
        return push(PickleSequence{});
      case PickleOpcode::empty_dict:
        return push(PickleDict{});
      case PickleOpcode::tuple_1:
        return push(PickleSequence{pop(1)});
      case PickleOpcode::tuple_2:
        return push(PickleSequence{pop(2)});
      case PickleOpcode::tuple_3:
        return push(PickleSequence{pop(3)});
      case PickleOpcode::tuple:
      case PickleOpcode::list:
      case PickleOpcode::frozen_set:
        return push(PickleSequence{pop_to_mark()});
      case PickleOpcode::dict:
        return push_dict(pop_to_mark());
      case PickleOpcode::append:
        return append(pop(1));
      case PickleOpcode::appends:
      case PickleOpcode::add_items:
        return append(pop_to_mark());
      case PickleOpcode::set_item:
        return set_items(pop(2));
      case PickleOpcode::set_items:
        return set_items(pop_to_mark());
      default:
        return false;
    }
  }

  bool step_object(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::protocol:
        bytes_.take(1);
        return true;
      case PickleOpcode::frame:
        bytes_.take(8);
        return true;
      case PickleOpcode::put_1:
        return store(bytes_.number(1));
      case PickleOpcode::put_4:
        return store(bytes_.number(4));
      case PickleOpcode::memoize:
        return store(memory_.size());
      case PickleOpcode::get_1:
        return recall(bytes_.number(1));
      case PickleOpcode::get_4:
        return recall(bytes_.number(4));
      case PickleOpcode::pop:
        pop(1);
        return true;
      case PickleOpcode::pop_mark:
        pop_to_mark();
        return true;
      case PickleOpcode::duplicate:
        stack_.push_back(top());
        return true;
      case PickleOpcode::global:
        return push_global();
      case PickleOpcode::stack_global:
        return push_stack_global(pop(2));
      case PickleOpcode::reduce:
      case PickleOpcode::new_object:
        return push_call(pop(2));
      case PickleOpcode::new_object_with_keywords:
        return push_call(pop(3));
      case PickleOpcode::build:
        return build(pop(1)[0]);
      case PickleOpcode::persistent_id:
        return push(PickleReference{pop(1)[0]});
      case PickleOpcode::stop:
        pickle_.root = pop(1)[0];
        return true;
      default:
        return false;
    }
  }

  // Protocol 0 writes booleans as these two numbers.
  bool push_text_integer(std::string text) {
    if (text == "00" || text == "01") return push(text == "01");
    if (text.ends_with('L')) text.pop_back();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument)
      bytes_.fail("a number is malformed");
    if (error == std::errc::result_out_of_range) return push(PickleOther{});
    return push(number);
  }

  bool push_text(std::optional<std::string> text) {
    if (!text) bytes_.fail("a text is malformed");
    return push(*std::move(text));
  }

  // Reads a number in two's complement, of any width.
  bool push_long(std::uint64_t width) {
    if (width > 8) return skip(width);
    std::uint64_t bits = bytes_.number(static_cast<std::size_t>(width));
    const bool negative = width > 0 && (bits >> (8 * width - 1)) != 0;
    if (negative && width < 8) bits |= ~std::uint64_t{0} << (8 * width);
    return push(static_cast<std::int64_t>(bits));
  }

  bool skip(std::uint64_t count) {
    bytes_.take(count);
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
    if (stack_.size() - floor < count) bytes_.fail("it takes more from the stack than it contains");
    std::vector<const PickleValue*> out(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return out;
  }

  std::vector<const PickleValue*> pop_to_mark() {
    if (marks_.empty()) bytes_.fail("it looks for a missing mark");
    auto out = pop(stack_.size() - marks_.back());
    marks_.pop_back();
    return out;
  }

  PickleValue* top() {
    if (stack_.size() == (marks_.empty() ? 0 : marks_.back()))
      bytes_.fail("it takes more from the stack than it contains");
    return stack_.back();
  }

  bool store(std::uint64_t slot) {
    memory_[slot] = top();
    return true;
  }

  bool recall(std::uint64_t slot) {
    const auto found = memory_.find(slot);
    if (found == memory_.end()) bytes_.fail("it loads a value that it has not stored");
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
    if (items.size() % 2 != 0) bytes_.fail("a dict has a key without a value");
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
    const std::string module = bytes_.line();
    return push(PickleGlobal{module + "." + bytes_.line()});
  }

  bool push_stack_global(const std::vector<const PickleValue*>& parts) {
    const auto* module = parts[0]->as<std::string>();
    const auto* name = parts[1]->as<std::string>();
    if (module == nullptr || name == nullptr) bytes_.fail("a function has no name");
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
        if (parts == nullptr || parts->items.size() != 2) bytes_.fail("an OrderedDict is not made of pairs");
        items.insert(items.end(), parts->items.begin(), parts->items.end());
      }
      // Each pair takes bytes of the pickle, but many dicts of the same pairs would fill the memory.
      copied_ += pairs->items.size();
      if (copied_ > bytes_.size()) bytes_.fail("it creates too many dicts from the same list");
    }
    return items;
  }

  PickleBytes bytes_;
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

std::string PickleCall::function() const {
  const auto* global = callee->as<PickleGlobal>();
  return global == nullptr ? "" : global->name;
}

Pickle read_pickle(std::span<const char> bytes, const std::string& source) {
  return Machine(bytes, source).run();
}

}  // namespace thinpipe::trainer
