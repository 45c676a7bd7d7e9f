// Residual networks of basic blocks with the stem for small images: a 3x3 convolution, no pooling.
// He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (2015), section 4.2, with projection
// shortcuts (option B). Names follow torchvision's ResNet. Known members of the family:
//   width 16, stages 3, blocks_per_stage 3    ResNet-20
//   width 64, stages 4, blocks_per_stage 2    ResNet-18 for CIFAR
#include <fmt/format.h>

#include "harness/support/options.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {
namespace {

struct ResnetOptions {
  std::int64_t width = 16;
  std::int64_t stages = 3;
  std::int64_t blocks_per_stage = 1;

  void visit(auto& field) {
    field("width", width,
          Rule{.effect = "channels of the first stage; each further stage has twice as many",
               .at_least = 1,
               .at_most = 1024});
    field(
        "stages", stages,
        Rule{.effect = "stages; each after the first halves the image's sides", .at_least = 1, .at_most = 6});
    field("blocks_per_stage", blocks_per_stage,
          Rule{.effect = "residual blocks of two convolutions in each stage", .at_least = 1, .at_most = 100});
  }
};

// Without bias: a batch normalisation follows each.
torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

class BasicBlockImpl : public torch::nn::Module {
 public:
  BasicBlockImpl(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1_(register_module("conv1", convolution(in, out, 3, stride))),
        bn1_(register_module("bn1", torch::nn::BatchNorm2d(out))),
        conv2_(register_module("conv2", convolution(out, out, 3, 1))),
        bn2_(register_module("bn2", torch::nn::BatchNorm2d(out))) {
    if (stride != 1 || in != out) {
      downsample_ = register_module(
          "downsample", torch::nn::Sequential(convolution(in, out, 1, stride), torch::nn::BatchNorm2d(out)));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor shortcut = downsample_ ? downsample_->forward(x) : x;
    return torch::relu(bn2_(conv2_(torch::relu(bn1_(conv1_(x))))) + shortcut);
  }

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  torch::nn::Conv2d conv2_;
  torch::nn::BatchNorm2d bn2_;
  torch::nn::Sequential downsample_{nullptr};
};
TORCH_MODULE(BasicBlock);

// As torchvision initialises them.
void initialise_convolutions(torch::nn::Module& model) {
  model.apply([](const std::string& /*name*/, torch::nn::Module& module) {
    if (auto* layer = module.as<torch::nn::Conv2d>()) {
      torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
    }
  });
}

class Resnet : public Model {
 public:
  Resnet(const ResnetOptions& options, const DataShape& data)
      : conv1_(register_module("conv1", convolution(data.channels, options.width, 3, 1))),
        bn1_(register_module("bn1", torch::nn::BatchNorm2d(options.width))) {
    std::int64_t in = options.width;
    for (std::int64_t stage = 0; stage < options.stages; ++stage) {
      const std::int64_t out = options.width << stage;
      torch::nn::Sequential blocks;
      for (std::int64_t block = 0; block < options.blocks_per_stage; ++block) {
        blocks->push_back(BasicBlock(in, out, stage > 0 && block == 0 ? 2 : 1));
        in = out;
      }
      stages_.push_back(register_module(fmt::format("layer{}", stage + 1), blocks));
    }
    fc_ = register_module("fc", torch::nn::Linear(in, data.classes));
    initialise_convolutions(*this);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = torch::relu(bn1_(conv1_(images)));
    for (torch::nn::Sequential& stage : stages_) x = stage->forward(x);
    return fc_(x.mean({2, 3}));
  }
  std::string head() const override { return "fc"; }

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  std::vector<torch::nn::Sequential> stages_;
  torch::nn::Linear fc_{nullptr};
};

const Registration<Model, const DataShape&> resnet_registration{
    "resnet", "basic-block residual network for small images, with torchvision's names",
    describe_options<ResnetOptions>(),
    [](JsonObject& object, const DataShape& data) -> std::unique_ptr<Model> {
      expect_images(object, data);
      return std::make_unique<Resnet>(read_options<ResnetOptions>(object), data);
    }};

}  // namespace
}  // namespace thinpipe::trainer
