// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/state_dict_search.hh"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

constexpr int dicts_inside_at_most = 3;
constexpr std::size_t members_listed_at_most = 12;

bool makes_tensor(const PickleValue& value) {
  const auto* call = value.as<PickleCall>();
  return call != nullptr && call->function().starts_with("torch._utils._rebuild_");
}

std::string describe(const PickleValue& value) {
  if (makes_tensor(value)) return "a tensor";
  if (const auto* dict = value.as<PickleDict>()) return fmt::format("a dict of {}", dict->items.size());
  if (const auto* list = value.as<PickleSequence>())
    return fmt::format("a sequence of {}", list->items.size());
  if (value.as<std::string>() != nullptr) return "a text";
  if (value.as<std::int64_t>() != nullptr || value.as<double>() != nullptr) return "a number";
  if (value.as<bool>() != nullptr) return "a boolean";
  if (const auto* call = value.as<PickleCall>()) {
    const std::string made_by = call->function();
    return made_by.empty() ? "a Python object" : "a Python object of " + made_by;
  }
  return "something else";
}

std::string list_members(const PickleDict& dict) {
  std::vector<std::string> members;
  for (const auto& [key, value] : dict.items) {
    if (members.size() == members_listed_at_most) {
      members.push_back(fmt::format("and {} more", dict.items.size() - members.size()));
      break;
    }
    const auto* name = key->as<std::string>();
    members.push_back(fmt::format("{} ({})",
                                  name == nullptr ? "a member without a name" : fmt::format("\"{}\"", *name),
                                  describe(*value)));
  }
  return members.empty() ? "nothing" : fmt::format("{}", fmt::join(members, ", "));
}

// Returns the number of tensors in a dict, not in its inner dicts. In a file with inner dicts, single numbers
// are a checkpoint's figures, such as its best accuracy, and do not count.
std::size_t count_tensors(const PickleDict& dict, bool whole_file) {
  std::size_t tensors = 0;
  bool figures_alone = whole_file;
  for (const auto& [key, value] : dict.items) {
    if (!makes_tensor(*value)) continue;
    ++tensors;
    const auto* arguments = value->as<PickleCall>()->arguments->as<PickleSequence>();
    const auto* sizes = arguments == nullptr || arguments->items.size() < 3
                            ? nullptr
                            : arguments->items[2]->as<PickleSequence>();
    figures_alone = figures_alone && sizes != nullptr && sizes->items.empty();
  }
  const bool has_dicts = std::any_of(dict.items.begin(), dict.items.end(), [](const auto& item) {
    return item.second->template as<PickleDict>() != nullptr;
  });
  return figures_alone && has_dicts ? 0 : tensors;
}

// Finds the dicts of tensors in a file, each once, even if it has several names.
class Search {
 public:
  explicit Search(const PickleDict& root) { visit(root, "", 0); }

  const std::vector<FoundDict>& found() const { return found_; }

 private:
  void visit(const PickleDict& dict, const std::string& under, int depth) {
    if (!seen_.insert(&dict).second) return;
    const std::size_t tensors = count_tensors(dict, depth == 0);
    if (tensors > 0) found_.push_back({&dict, under, tensors});
    if (depth == dicts_inside_at_most) return;
    for (const auto& [key, value] : dict.items) {
      const auto* name = key->as<std::string>();
      const auto* inner = value->as<PickleDict>();
      // Optimiser state also has entries by the parameters' names.
      if (name == nullptr || inner == nullptr || name->find("optim") != std::string::npos) continue;
      visit(*inner, under.empty() ? *name : under + "." + *name, depth + 1);
    }
  }

  std::set<const PickleDict*> seen_;
  std::vector<FoundDict> found_;
};

const PickleDict& root_dict(const PickleValue& root, const std::string& path) {
  const PickleValue* value = &root;
  // LibTorch wraps a dict in a call that marks its type.
  if (const auto* call = value->as<PickleCall>(); call != nullptr) {
    const auto* arguments = call->arguments->as<PickleSequence>();
    if (call->function() == "torch.jit._pickle.restore_type_tag" && arguments != nullptr &&
        !arguments->items.empty()) {
      value = arguments->items[0];
    }
  }
  const auto* dict = value->as<PickleDict>();
  if (dict != nullptr) return *dict;
  if (value->as<PickleCall>() == nullptr || makes_tensor(*value)) {
    throw Error(fmt::format("{} does not contain a dict of tensors, but {}", path, describe(*value)));
  }
  throw Error(fmt::format(
      "{} contains a whole Python object ({}); save only its tensors: torch.save(model.state_dict(), …)",
      path, value->as<PickleCall>()->function()));
}

bool share_a_name(const PickleDict& one, const PickleDict& other) {
  std::set<std::string_view> names;
  for (const auto& [key, value] : one.items) {
    if (const auto* name = key->as<std::string>()) names.insert(*name);
  }
  return std::any_of(other.items.begin(), other.items.end(), [&](const auto& item) {
    const auto* name = item.first->template as<std::string>();
    return name != nullptr && names.contains(*name);
  });
}

// Returns the only dict with a name that is usual for a model, if the other dicts share no names with it,
// such as those of a loss. Averages of the model's weights do share its names.
const FoundDict* the_model_among(const std::vector<FoundDict>& found) {
  constexpr std::array<std::string_view, 4> usual = {"state_dict", "model_state_dict", "model", "net"};
  const auto is_usual = [&](const FoundDict& candidate) {
    return std::find(usual.begin(), usual.end(), candidate.under) != usual.end();
  };
  if (std::count_if(found.begin(), found.end(), is_usual) != 1) return nullptr;
  const auto model = std::find_if(found.begin(), found.end(), is_usual);
  for (auto other = found.begin(); other != found.end(); ++other) {
    if (other != model && share_a_name(*model->dict, *other->dict)) return nullptr;
  }
  return &*model;
}

}  // namespace

FoundDict find_state_dict(const PickleValue& root, const std::string& path) {
  const PickleDict& dict = root_dict(root, path);
  const std::vector<FoundDict> found = Search(dict).found();
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    if (dict.items.empty()) return {&dict, "", 0};
    throw Error(fmt::format(
        "{} contains no dict of tensors, but {}; save the model's tensors: torch.save(model.state_dict(), …)",
        path, list_members(dict)));
  }
  if (const FoundDict* model = the_model_among(found)) return *model;
  std::vector<std::string> names;
  for (const FoundDict& candidate : found) {
    if (names.size() == members_listed_at_most) {
      names.push_back(fmt::format("and {} more", found.size() - names.size()));
      break;
    }
    names.push_back(fmt::format("{} ({} tensors)",
                                candidate.under.empty() ? "the file itself" : '"' + candidate.under + '"',
                                candidate.tensors));
  }
  const FoundDict& example = found.back();
  throw Error(
      fmt::format("{} contains several dicts of tensors: {}. Save only the one that you need, for example: "
                  "torch.save(torch.load(FILE)[\"{}\"], NEW_FILE)",
                  path, fmt::join(names, ", "), example.under.substr(0, example.under.find('.'))));
}

}  // namespace thinpipe::trainer
