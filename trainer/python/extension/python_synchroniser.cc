// SPDX-License-Identifier: Apache-2.0
#include "trainer/python/extension/python_synchroniser.hh"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "trainer/collectives/echoing_peers.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/python/extension/bindings.hh"
#include "trainer/python/extension/python_call.hh"
#include "trainer/python/extension/script_entry.hh"
#include "trainer/python/extension/script_options.hh"
#include "trainer/synchronisers/estimated_traffic.hh"

namespace thinpipe::trainer::python {
namespace {

const std::map<std::string, Estimate> estimates = {{"exact", Estimate::exact},
                                                   {"rounded", Estimate::rounded},
                                                   {"unbiased", Estimate::unbiased},
                                                   {"biased", Estimate::biased},
                                                   {"error_feedback", Estimate::error_feedback}};

MethodProperties properties_of(const py::object& method) {
  const py::object declared = method.attr("properties");
  const auto name = declared.attr("estimate").cast<std::string>();
  const auto estimate = estimates.find(name);
  if (estimate == estimates.end()) {
    throw Error(fmt::format(
        "properties.estimate must be exact, rounded, unbiased, biased or error_feedback, but is \"{}\"",
        name));
  }
  return {.estimate = estimate->second,
          .relative_rounding = declared.attr("relative_rounding").cast<double>(),
          .all_reduce_compatible = declared.attr("all_reduce_compatible").cast<bool>(),
          .traffic_depends_on_data = declared.attr("traffic_depends_on_data").cast<bool>(),
          .applies_momentum = declared.attr("applies_momentum").cast<bool>()};
}

class PythonSynchroniser : public Synchroniser, public EstimatedTraffic {
 public:
  using Make = std::function<py::object(const Context& context)>;  // called with the interpreter's lock

  PythonSynchroniser(Make make, const SynchroniserContext& context)
      : make_(std::move(make)),
        context_{.context = context,
                 .parameters = std::make_shared<const std::vector<ParameterInfo>>(context.parameters)},
        method_(in_interpreter([&] { return make_(context_); })),
        properties_(in_interpreter([&] { return properties_of(method_.get()); })),
        needs_one_bucket_(
            in_interpreter([&] { return method_.get().attr("needs_one_bucket").cast<bool>(); })),
        senses_network_(in_interpreter([&] { return method_.get().attr("senses_network").cast<bool>(); })),
        states_traffic_(has_its_own("traffic")),
        uses_learning_rate_(has_its_own("set_learning_rate")) {}

  MethodProperties properties() const override { return properties_; }
  bool needs_one_bucket() const override { return needs_one_bucket_; }

  bool leaves_dense(const ParameterInfo& parameter) const override {
    return in_interpreter([&] { return method_.get().attr("leaves_dense")(parameter).cast<bool>(); });
  }

  void prepare(const std::vector<Bucket>& layout) override {
    in_interpreter([&] {
      py::list named;
      for (const Bucket& bucket : layout) {
        if (!bucket.side) named.append(NamedBucket{bucket, context_.parameters});
      }
      method_.get().attr("prepare")(named);
    });
  }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    in_interpreter([&] {
      py::list masks;
      for (const torch::Tensor& mask : kept) masks.append(mask.defined() ? py::cast(mask) : py::none());
      method_.get().attr("adopt_masks")(masks);
    });
  }

  void set_learning_rate(double learning_rate) override {
    in_interpreter([&] { method_.get().attr("set_learning_rate")(learning_rate); });
  }

  bool uses_learning_rate() const override { return uses_learning_rate_; }

  void begin_step(std::uint64_t step) override {
    in_interpreter([&] { method_.get().attr("begin_step")(step); });
  }

  void add_residual(Bucket& bucket) const override {
    in_interpreter([&] {
      const auto named = std::make_shared<NamedBucket>(NamedBucket{bucket, context_.parameters});
      method_.get().attr("add_residual")(named);
      take_gradient(*named, bucket);
    });
  }

  void synchronise(Bucket& bucket, Collective& collective) override {
    if (bucket.size == 0) return;  // a parameter without entries is no concern of the method
    in_interpreter([&] { synchronise(method_.get(), bucket, collective); });
  }

  void finish_dense(Bucket& bucket, int world_size) override {
    if (bucket.size == 0) return;
    in_interpreter([&] {
      const auto named = std::make_shared<NamedBucket>(NamedBucket{bucket, context_.parameters});
      method_.get().attr("finish_dense")(named, world_size);
      take_gradient(*named, bucket);
    });
  }

  void finish_step(bool applied) override {
    in_interpreter([&] { method_.get().attr("finish_step")(applied); });
  }

  bool senses_network() const override { return senses_network_; }

  void observe(const Observation& step) override {
    in_interpreter([&] { method_.get().attr("observe")(step); });
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const std::optional<double> stated = in_interpreter([&]() -> std::optional<double> {
      const py::object bytes =
          method_.get().attr("traffic")(NamedBucket{bucket, context_.parameters}, world_size);
      return bytes.is_none() ? std::nullopt : std::optional(bytes.cast<double>());
    });
    ExpectedTraffic traffic = try_traffic(bucket, world_size);
    if (stated && traffic.payload_bytes > 0) traffic *= *stated / traffic.payload_bytes;
    return traffic;
  }

  TrafficClaim traffic_claim() const override {
    if (states_traffic_) return TrafficClaim::payload;
    return properties_.traffic_depends_on_data ? TrafficClaim::none : TrafficClaim::payload_and_sent;
  }

  Json state() const override {
    return in_interpreter([&]() -> Json {
      const py::object statistics = method_.get().attr("statistics")();
      const py::module_ json = py::module_::import("json");
      // Python writes NaN and infinity, which JSON lacks.
      const py::cpp_function null([](const std::string& /*constant*/) { return py::none(); });
      const py::object finite =
          json.attr("loads")(json.attr("dumps")(statistics), py::arg("parse_constant") = null);
      return Json::parse(json.attr("dumps")(finite).cast<std::string>());
    });
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    in_interpreter([&] {
      for (const auto& [name, tensor] : method_.get().attr("state_dict")().cast<TensorMap>())
        state[prefix + name] = tensor;
    });
  }

  void load(const TensorMap& state, const std::string& prefix) override {
    TensorMap own;
    for (const auto& [name, tensor] : state) {
      if (name.starts_with(prefix)) own[name.substr(prefix.size())] = tensor;
    }
    in_interpreter([&] { method_.get().attr("load_state_dict")(own); });
  }

 private:
  // Returns whether the class replaces that function of the base class.
  bool has_its_own(const char* function) const {
    return in_interpreter([&] {
      const py::object base = py::module_::import("thinpipe.method").attr("Synchroniser");
      return !method_.get().attr("__class__").attr(function).is(base.attr(function));
    });
  }

  void synchronise(const py::object& method, Bucket& bucket, Collective& collective) const {
    const auto named = std::make_shared<NamedBucket>(NamedBucket{bucket, context_.parameters});
    const auto network = std::make_shared<Network>(collective);
    try {
      method.attr("synchronise")(named, network);
    } catch (...) {
      network->end();
      throw;
    }
    network->end();
    take_gradient(*named, bucket);
  }

  // The method may have put another tensor in the place of the bucket's.
  static void take_gradient(const NamedBucket& named, Bucket& bucket) {
    if (named.bucket.gradient.data_ptr() != bucket.gradient.data_ptr())
      bucket.gradient.copy_(named.bucket.gradient);
  }

  // Returns the traffic of the first step of a new object of the method, with a random gradient, beside
  // workers that send the same.
  ExpectedTraffic try_traffic(const Bucket& bucket, int world_size) const {
    MeteredCollective metered(std::make_unique<EchoingPeers>(world_size));
    ExpectedTraffic traffic;
    metered.set_observer([&](const CollectiveCall& call) {
      const double all_sent = metered.traffic().sent_bytes;
      const double sent = all_sent - traffic.sent_bytes;
      if (std::holds_alternative<AllGatherCall>(call)) traffic.gathered_bytes += sent;
      if (std::holds_alternative<AllToAllCall>(call)) traffic.pairwise_bytes += sent;
      if (std::holds_alternative<BroadcastCall>(call)) traffic.broadcast_bytes += sent;
      if (const auto* reduced = std::get_if<AllReduceCall>(&call); reduced && reduced->largest_code > 0) {
        traffic.codes += static_cast<double>(reduced->elements);
        traffic.largest_code = std::max(traffic.largest_code, static_cast<int>(reduced->largest_code));
      }
      traffic.sent_bytes = all_sent;
    });
    if (bucket.size == 0) return traffic;
    Bucket trial = bucket;
    trial.gradient = torch::randn({bucket.size}, at::detail::createCPUGenerator());
    in_interpreter([&] {
      const py::object method = make_(context_);
      py::list layout;
      layout.append(NamedBucket{trial, context_.parameters});
      method.attr("prepare")(layout);
      method.attr("set_learning_rate")(1.0);
      method.attr("begin_step")(1);
      synchronise(method, trial, metered);
    });
    traffic.payload_bytes = static_cast<double>(metered.traffic().payload_bytes);
    traffic.delivered_bytes = static_cast<double>(metered.traffic().delivered_bytes);
    return traffic;
  }

  Make make_;
  Context context_;
  SharedObject method_;
  MethodProperties properties_;
  bool needs_one_bucket_ = false;
  bool senses_network_ = false;
  bool states_traffic_ = false;
  bool uses_learning_rate_ = false;
};

}  // namespace

void host_synchronisers() {
  const auto describe = [](const py::object& method) {
    return py::module_::import("thinpipe.scripts").attr("describe_class")(method).cast<std::string>();
  };
  const auto make = [](const std::shared_ptr<SharedObject>& method, const Json& description,
                       JsonObject& object, const SynchroniserContext& context) {
    const std::string values = read_described(object, description).dump();
    const auto make_object = [method, values](const Context& given) -> py::object {
      return py::module_::import("thinpipe.scripts").attr("make_synchroniser")(method->get(), values, given);
    };
    return std::make_unique<PythonSynchroniser>(make_object, context);
  };
  host_scripts<Synchroniser, const SynchroniserContext&>("Synchroniser", describe, make);
}

}  // namespace thinpipe::trainer::python
