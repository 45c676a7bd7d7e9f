#include "trainer/weights.hh"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/support/exception.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::size_t listed_at_most = 20;

// Compares a model's tensors with a file's, and remembers what it finds.
class Comparison {
 public:
  Comparison(const TensorMap& need, const TensorMap& have, const WeightRules& rules) : rules_(rules) {
    for (const auto& [name, tensor] : need) {
      if (in_head(name) && rules.new_head) {
        ++left_in_head_;
      } else {
        compare(name, tensor, have);
      }
    }
    for (const auto& [name, tensor] : have) {
      if (!need.contains(name) && !(in_head(name) && rules.new_head)) {
        add_problem(name, fmt::format("{}: the model has no such tensor; the file has {}", name,
                                      describe_tensor(tensor)));
      }
    }
  }

  const std::vector<std::string>& fitting() const { return fitting_; }

  void throw_if_unfit(const std::string& source) const {
    if (problems_.empty()) return;
    std::string message = fmt::format("{} does not fit the model:", source);
    for (std::size_t i = 0; i < problems_.size() && i < listed_at_most; ++i) message += "\n  " + problems_[i];
    if (problems_.size() > listed_at_most) {
      message += fmt::format("\n  and {} more", problems_.size() - listed_at_most);
    }
    if (only_in_head_) {
      message += fmt::format(
          "\nOnly the head \"{}\" does not fit: with \"head\": \"new\" it begins anew, and all else "
          "is loaded",
          rules_.head);
    }
    throw Error(message);
  }

  std::vector<std::string> notes(const std::string& source) const {
    std::vector<std::string> out;
    for (const auto& [change, count] : conversions_) {
      out.push_back(fmt::format("{}: {} tensors converted from {}", source, count, change));
    }
    if (!uncounted_.empty()) {
      out.push_back(fmt::format("{} lacks these counters, which stay as they are: {}", source,
                                fmt::join(uncounted_, ", ")));
    }
    if (left_in_head_ > 0) {
      out.push_back(fmt::format("the {} tensors of the head \"{}\" begin anew", left_in_head_, rules_.head));
    }
    return out;
  }

 private:
  bool in_head(const std::string& name) const {
    return !rules_.head.empty() && name.starts_with(rules_.head + ".");
  }

  void compare(const std::string& name, const torch::Tensor& tensor, const TensorMap& have) {
    const auto found = have.find(name);
    if (found == have.end()) {
      if (tensor.is_floating_point()) {
        add_problem(name, fmt::format("{}: missing; the model needs {}", name, describe_tensor(tensor)));
      } else {
        uncounted_.push_back(name);
      }
      return;
    }
    const torch::Tensor& other = found->second;
    const bool same_type = tensor.scalar_type() == other.scalar_type();
    const bool convertible = tensor.is_floating_point() && other.is_floating_point();
    if (tensor.sizes() != other.sizes() || !(same_type || convertible)) {
      add_problem(name, fmt::format("{}: the file has {}, the model needs {}", name, describe_tensor(other),
                                    describe_tensor(tensor)));
      return;
    }
    if (!same_type) {
      ++conversions_[fmt::format("{} to {}", c10::toString(other.scalar_type()),
                                 c10::toString(tensor.scalar_type()))];
    }
    fitting_.push_back(name);
  }

  void add_problem(const std::string& name, std::string problem) {
    only_in_head_ = (problems_.empty() || only_in_head_) && in_head(name);
    problems_.push_back(std::move(problem));
  }

  const WeightRules& rules_;
  std::vector<std::string> fitting_;
  std::vector<std::string> problems_;
  bool only_in_head_ = false;
  std::map<std::string, int> conversions_;  // "Half to Float": tensors
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
  for (const std::string& name : comparison.fitting()) weights.at(name).copy_(tensors.at(name));
  return comparison.notes(source);
}

}  // namespace thinpipe::trainer
