// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/weights.hh"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/exception.hh"
#include "trainer/tensors/weight_names.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::size_t listed_at_most = 10;  // of each kind

// The problems of one kind: the first few in full, and the total number.
class Problems {
 public:
  explicit Problems(std::string more) : more_(std::move(more)) {}

  void add(std::string problem) {
    if (count_++ < listed_at_most) listed_ += "\n  " + std::move(problem);
  }

  std::size_t count() const { return count_; }

  std::string list() const {
    return count_ > listed_at_most
               ? fmt::format("{}\n  and {} more {}", listed_, count_ - listed_at_most, more_)
               : listed_;
  }

 private:
  std::string more_;  // describes those that are not listed
  std::size_t count_ = 0;
  std::string listed_;
};

std::set<std::string> names_of(const TensorMap& tensors) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) names.insert(name);
  return names;
}

// Compares a model's tensors with a file's, and collects the differences.
class Comparison {
 public:
  Comparison(const TensorMap& need, const TensorMap& have, const WeightRules& rules) : rules_(rules) {
    names_ = find_prefix(names_needed(need), names_of(have));
    for (const auto& [name, tensor] : need) {
      if (in_head(name) && rules.new_head) {
        ++left_in_head_;
      } else {
        compare(name, tensor, have);
      }
    }
    for (const auto& [full_name, tensor] : have) {
      if (!full_name.starts_with(names_.prefix)) {
        besides_.push_back(full_name);
        continue;
      }
      const std::string name = full_name.substr(names_.prefix.size());
      if (need.contains(name) || (in_head(name) && rules.new_head)) continue;
      note_problem_at(name);
      unknown_.add(fmt::format("{}: the model has no such tensor; the file has {}", full_name,
                               describe_tensor(tensor)));
    }
  }

  // Returns names as in the model; the file has them after its prefix.
  const std::vector<std::string>& fitting() const { return fitting_; }
  const std::string& prefix() const { return names_.prefix; }

  void throw_if_unfit(const std::string& source) const {
    if (problems() == 0) return;
    std::string message = fmt::format("{} does not fit the model:", source);
    // Lists each kind separately, so that the names of both sides are visible.
    for (const Problems* kind : {&unlike_, &missing_, &unknown_}) message += kind->list();
    if (!names_.alternatives.empty()) {
      message += fmt::format(
          "\nThe model's names occur after each of \"{}\" in the file: save only those that you need",
          fmt::join(names_.alternatives, "\", \""));
    }
    if (only_in_head_) {
      message += fmt::format(
          "\nOnly the head \"{}\" does not fit: with \"head\": \"new\" it starts from random weights, and "
          "all else is loaded",
          rules_.head);
    }
    throw Error(message);
  }

  std::vector<std::string> notes(const std::string& source) const {
    std::vector<std::string> out;
    if (!names_.prefix.empty()) {
      out.push_back(fmt::format("{}: the model's tensors are those whose names begin with \"{}\"", source,
                                names_.prefix));
    }
    if (!besides_.empty()) {
      const std::size_t listed = std::min(besides_.size(), listed_at_most);
      out.push_back(fmt::format(
          "{}: {} other tensors are ignored: {}{}", source, besides_.size(),
          fmt::join(besides_.begin(), besides_.begin() + static_cast<std::ptrdiff_t>(listed), ", "),
          besides_.size() > listed ? ", …" : ""));
    }
    for (const auto& [change, count] : conversions_) {
      out.push_back(fmt::format("{}: {} tensors converted from {}", source, count, change));
    }
    if (!uncounted_.empty()) {
      out.push_back(fmt::format("{} lacks these counters, which stay unchanged: {}", source,
                                fmt::join(uncounted_, ", ")));
    }
    if (left_in_head_ > 0) {
      out.push_back(fmt::format("the {} tensors of the head \"{}\" start from random weights", left_in_head_,
                                rules_.head));
    }
    return out;
  }

 private:
  bool in_head(const std::string& name) const {
    return !rules_.head.empty() && name.starts_with(rules_.head + ".");
  }

  void compare(const std::string& name, const torch::Tensor& tensor, const TensorMap& have) {
    const auto found = have.find(names_.prefix + name);
    if (found == have.end()) {
      if (tensor.is_floating_point()) {
        note_problem_at(name);
        missing_.add(fmt::format("{}: missing; the model needs {}", name, describe_tensor(tensor)));
      } else {
        uncounted_.push_back(name);
      }
      return;
    }
    const torch::Tensor& other = found->second;
    const bool same_type = tensor.scalar_type() == other.scalar_type();
    const bool convertible = tensor.is_floating_point() && other.is_floating_point();
    if (tensor.sizes() != other.sizes() || !(same_type || convertible)) {
      note_problem_at(name);
      unlike_.add(fmt::format("{}: the file has {}, the model needs {}", found->first, describe_tensor(other),
                              describe_tensor(tensor)));
      return;
    }
    if (!same_type) {
      ++conversions_[fmt::format("{} to {}", c10::toString(other.scalar_type()),
                                 c10::toString(tensor.scalar_type()))];
    }
    fitting_.push_back(name);
  }

  // Returns the names of which the file must contain most: without a new head, which takes nothing from it.
  std::set<std::string> names_needed(const TensorMap& need) const {
    std::set<std::string> names;
    for (const auto& [name, tensor] : need) {
      if (!(in_head(name) && rules_.new_head)) names.insert(name);
    }
    return names;
  }

  std::size_t problems() const { return unlike_.count() + missing_.count() + unknown_.count(); }

  void note_problem_at(const std::string& name) {
    only_in_head_ = (problems() == 0 || only_in_head_) && in_head(name);
  }

  const WeightRules& rules_;
  std::vector<std::string> fitting_;
  NamePrefix names_;
  Problems unlike_{"of another shape or type"};
  Problems missing_{"that the file lacks"};
  Problems unknown_{"that the model lacks"};
  std::vector<std::string> besides_;  // names that do not begin with the prefix
  bool only_in_head_ = false;
  std::map<std::string, int> conversions_;  // "Half to Float": number of tensors
  std::vector<std::string> uncounted_;
  int left_in_head_ = 0;
};

}  // namespace

TensorMap weights_of(const torch::nn::Module& model, const std::string& prefix) {
  TensorMap weights;
  for (const auto& item : model.named_parameters()) weights[prefix + item.key()] = item.value();
  for (const auto& item : model.named_buffers()) weights[prefix + item.key()] = item.value();
  return weights;
}

void load_weights(torch::nn::Module& model, const TensorMap& tensors, const std::string& source,
                  const std::string& prefix) {
  const torch::NoGradGuard no_grad;
  TensorMap weights = weights_of(model, prefix);
  for (auto& [name, tensor] : weights) tensor.copy_(expect_tensor(tensors, name, tensor, source));
}

std::vector<std::string> load_weights(torch::nn::Module& model, const TensorMap& tensors,
                                      const std::string& source, const WeightRules& rules) {
  const torch::NoGradGuard no_grad;
  TensorMap weights = weights_of(model);
  const Comparison comparison(weights, tensors, rules);
  comparison.throw_if_unfit(source);
  for (const std::string& name : comparison.fitting())
    weights.at(name).copy_(tensors.at(comparison.prefix() + name));
  return comparison.notes(source);
}

}  // namespace thinpipe::trainer
