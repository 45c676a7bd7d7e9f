// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "trainer/synchronisers/adjustable_ratio.hh"
#include "trainer/synchronisers/ratio_control.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct NetSenseOptions : RatioLimits {
  Json inner = {{"name", "topk"}, {"ratio", 0.01}};

  void visit(auto& field) {
    field(
        "inner", inner,
        Rule{
            .effect =
                "the method whose ratio is adapted, with its options; its ratio, within the limits, is the first one"});
    RatioLimits::visit(field);
  }
};

// Adapts the kept fraction of another method to the network: an exchange shall take exchange_share of a step's compute
// time, so that a fast network loses little of the gradient and a slow one does not stop compute (RatioControl).
//
// The idea is that of Wang et al., NetSenseML (Euro-Par 2025), of which only the abstract and summaries were available. As
// there, workers measure each exchange and the ratio follows. There the volume to send is the product of the largest rate
// and the shortest time seen lately, as in BBR. On a link that queues nothing between steps, the shortest time is that of
// the smallest exchange, and such a rule returns to it; here the time to aim at is stated. That method also rounds values
// to float16 and drops entries of small weights first. Here, "inner" and "pruning" are free to choose.
//
// State: the inner method's, the ratio and sums for the record. Payload: the inner method's, and 24 bytes per step in which workers
// agree on what they measured (agree_on()).
class NetSense : public Synchroniser {
 public:
  // inner: implements AdjustableRatio.
  NetSense(const NetSenseOptions& options, std::unique_ptr<Synchroniser> inner)
      : inner_(std::move(inner)),
        adjustable_(dynamic_cast<AdjustableRatio&>(*inner_)),
        control_(options, adjustable_.ratio()) {
    adjustable_.set_ratio(control_.ratio());
  }

  MethodProperties properties() const override { return inner_->properties(); }
  Clipping clipping() const override { return inner_->clipping(); }
  std::optional<int> max_workers() const override { return inner_->max_workers(); }
  std::int64_t workers_multiple_of() const override { return inner_->workers_multiple_of(); }
  bool leaves_dense(const ParameterInfo& parameter) const override { return inner_->leaves_dense(parameter); }
  bool works_on_gpus() const override { return inner_->works_on_gpus(); }
  bool needs_one_bucket() const override { return inner_->needs_one_bucket(); }
  void prepare(const std::vector<Bucket>& layout) override { inner_->prepare(layout); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override { inner_->adopt_masks(kept); }
  void set_learning_rate(double learning_rate) override { inner_->set_learning_rate(learning_rate); }
  bool uses_learning_rate() const override { return inner_->uses_learning_rate(); }
  void begin_step(std::uint64_t step) override { inner_->begin_step(step); }
  bool shifts_evaluation() const override { return inner_->shifts_evaluation(); }
  torch::Tensor evaluation_shift(std::size_t parameter) const override {
    return inner_->evaluation_shift(parameter);
  }
  void add_residual(Bucket& bucket) const override { inner_->add_residual(bucket); }
  void synchronise(Bucket& bucket, Collective& network) override { inner_->synchronise(bucket, network); }
  void finish_dense(Bucket& bucket, int world_size) override { inner_->finish_dense(bucket, world_size); }
  void finish_step(bool applied) override { inner_->finish_step(applied); }

  bool senses_network() const override { return true; }
  void observe(const Observation& step) override {
    control_.observe(step);
    adjustable_.set_ratio(control_.ratio());
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return inner_->traffic(bucket, world_size);
  }
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    return inner_->steady_state_traffic(bucket, world_size);
  }

  Json state() const override {
    Json state = control_.state();
    if (Json inner = inner_->state(); !inner.is_null()) state["inner"] = std::move(inner);
    return state;
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    control_.save(state, prefix);
    inner_->save(state, prefix + "inner.");
  }

  void load(const TensorMap& state, const std::string& prefix) override {
    control_.load(state, prefix);
    adjustable_.set_ratio(control_.ratio());
    inner_->load(state, prefix + "inner.");
  }

 private:
  std::unique_ptr<Synchroniser> inner_;
  AdjustableRatio& adjustable_;  // *inner_
  RatioControl control_;
};

// Throws InputError if the method, or one inside it, changes its ratio itself.
void refuse_warm_up(const Json& method, const Place& place) {
  if (method.value("warm_up_steps", std::int64_t{0}) > 0) {
    throw InputError(
        place / "warm_up_steps",
        "must be 0 inside netsense: a warm-up has its own ratios, so that the network's would have no effect");
  }
  if (method.contains("inner")) refuse_warm_up(method.at("inner"), place / "inner");
}

THINPIPE_REGISTER(Synchroniser){
    "netsense", "another method whose kept fraction follows the network, after NetSenseML",
    describe_options<NetSenseOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<NetSenseOptions>(object);
      if (options.minimum_ratio > options.maximum_ratio) {
        throw InputError(object.place_of("minimum_ratio"),
                         fmt::format("must be at most maximum_ratio, which is {}, but is {}",
                                     options.maximum_ratio, options.minimum_ratio));
      }
      const Place place = object.place_of("inner");
      auto inner = SynchroniserRegistry::instance().make(options.inner, place, context);
      if (dynamic_cast<const AdjustableRatio*>(inner.get()) == nullptr) {
        throw InputError(
            place / "name",
            fmt::format("{} cannot be put inside netsense, because it has no ratio that can "
                        "change between steps; use \"topk\", \"topk_chunked\", \"dgc\", \"gmc\", "
                        "\"ok_topk\" or \"spardl\"",
                        options.inner.at("name").dump()));
      }
      refuse_warm_up(options.inner, place);
      return std::make_unique<NetSense>(options, std::move(inner));
    }};

}  // namespace
}  // namespace thinpipe::trainer
