// SPDX-License-Identifier: Apache-2.0
#include "trainer/python/extension/bindings.hh"
#include "trainer/python/extension/ddp_exchange.hh"
#include "trainer/python/extension/process_group_collective.hh"

namespace thinpipe::trainer::python {
namespace {

using Released = py::call_guard<py::gil_scoped_release>;

// Owns an exchange. Its destruction waits for a thread that may need the interpreter's lock.
class BoundExchange {
 public:
  explicit BoundExchange(std::unique_ptr<DdpExchange> exchange) : exchange_(std::move(exchange)) {}
  ~BoundExchange() {
    const py::gil_scoped_release released;
    exchange_.reset();
  }
  BoundExchange(const BoundExchange&) = delete;
  BoundExchange& operator=(const BoundExchange&) = delete;
  BoundExchange(BoundExchange&&) = delete;
  BoundExchange& operator=(BoundExchange&&) = delete;

  DdpExchange& operator*() const { return *exchange_; }

 private:
  std::unique_ptr<DdpExchange> exchange_;
};

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// group: GroupOptions, or a thinpipe.process_group.ProcessGroup if there is no `collective`.
std::unique_ptr<Collective> make_collective(const Json& collective, const py::object& group) {
  if (collective.is_null()) return make_process_group_collective(group);
  const GroupOptions options{.rank = group.attr("rank").cast<int>(),
                             .world_size = group.attr("world_size").cast<int>(),
                             .address = group.attr("address").cast<std::string>(),
                             .rendezvous_directory = group.attr("folder").cast<std::string>()};
  const py::gil_scoped_release released;
  return CollectiveRegistry::instance().make(collective, Place{"ddp_hook", "/collective"}, options);
}

std::unique_ptr<BoundExchange> make_exchange(const NamedTensors& parameters,
                                             const std::map<std::string, torch::Tensor>& kept,
                                             const std::string& method, const std::string& buckets,
                                             double weight_decay, std::uint64_t seed,
                                             const std::string& collective, const py::object& group) {
  NamedParameters named;
  for (const auto& [name, tensor] : parameters) named.insert(name, tensor);
  const DdpOptions options{.method = Json::parse(method),
                           .buckets = Json::parse(buckets),
                           .weight_decay = weight_decay,
                           .seed = seed};
  auto connected = make_collective(Json::parse(collective), group);
  std::unique_ptr<DdpExchange> exchange;
  {
    const py::gil_scoped_release released;
    exchange = std::make_unique<DdpExchange>(named, kept, options, std::move(connected));
  }
  return std::make_unique<BoundExchange>(std::move(exchange));
}

}  // namespace

void bind_ddp(py::module_& module) {
  py::register_exception<InputError>(module, "InputError", PyExc_ValueError);
  py::class_<BoundExchange>(module, "DdpExchange",
                            "The exchange of gradients that DistributedDataParallel has collected.")
      .def(py::init(&make_exchange), py::arg("parameters"), py::arg("kept"), py::arg("method"),
           py::arg("buckets"), py::arg("weight_decay"), py::arg("seed"), py::arg("collective"),
           py::arg("group"))
      .def_property_readonly(
          "applies_momentum",
          [](const BoundExchange& self) { return (*self).method().properties().applies_momentum; })
      .def_property_readonly("uses_learning_rate",
                             [](const BoundExchange& self) { return (*self).method().uses_learning_rate(); })
      .def_property_readonly("steps", [](const BoundExchange& self) { return (*self).steps(); })
      .def_property_readonly("payload_bytes",
                             [](const BoundExchange& self) { return (*self).payload_bytes(); })
      .def(
          "begin_step",
          [](const BoundExchange& self, std::optional<double> learning_rate) {
            (*self).begin_step(learning_rate);
          },
          Released(), py::arg("learning_rate"))
      .def(
          "submit",
          [](const BoundExchange& self, const std::vector<torch::Tensor>& parameters,
             const std::vector<torch::Tensor>& gradients) { (*self).submit(parameters, gradients); },
          Released(), py::arg("parameters"), py::arg("gradients"))
      .def(
          "finish_step", [](const BoundExchange& self) { return (*self).finish_step(); }, Released())
      .def(
          "statistics", [](const BoundExchange& self) { return (*self).statistics().dump(); }, Released())
      .def(
          "state_dict", [](const BoundExchange& self) { return (*self).state(); }, Released())
      .def(
          "load_state_dict", [](const BoundExchange& self, const TensorMap& state) { (*self).load(state); },
          Released());
}

}  // namespace thinpipe::trainer::python
