# SPDX-License-Identifier: Apache-2.0
"""Compares models' outputs for the same weights and inputs with Python's: torchvision's if it can be imported, and
references made of PyTorch's own layers.

Usage: forward_test.py PATH/thinpipe-trainer   (exit status 77: skipped, the reason on standard output)
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import OrderedDict
from functools import partial
from pathlib import Path

# One thread, as in the trainer. torch.set_num_threads has no effect on a BLAS that has its own threads.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"SKIPPED: {error}; install python3-torch")
    sys.exit(77)
try:
    import torchvision.models  # "import torchvision" alone would find the folder beside this file
except ImportError:
    torchvision = None

# Float32 sums in another order differ less; a wrong layer differs in the first digits.
RELATIVE_TOLERANCE = 1e-4
CIFAR = {"channels": 3, "height": 32, "width": 32, "classes": 10}
PHOTOGRAPH = {"channels": 3, "height": 64, "width": 96, "classes": 7}
TEXT = {"sequence_length": 12, "classes": 31}
VIT = {"width": 24, "depth": 3, "heads": 4, "patch": 8}
GPT = {"width": 24, "depth": 2, "heads": 3}


def convolution(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class EverySecondPosition(nn.Module):
    def __init__(self, further_channels):
        super().__init__()
        self.further_channels = further_channels

    def forward(self, x):
        return nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.further_channels))


class ResidualBlock(nn.Module):
    def __init__(self, inputs, width, stride, bottleneck, projects=True):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        if bottleneck:
            parts = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        else:
            parts = [(inputs, width, 3, stride), (width, width, 3, 1)]
        self.count = len(parts)
        for i, part in enumerate(parts, 1):
            self.add_module(f"conv{i}", convolution(*part))
            self.add_module(f"bn{i}", nn.BatchNorm2d(part[1]))
        self.downsample = None
        if stride != 1 or inputs != outputs:
            projection = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
            self.downsample = projection if projects else EverySecondPosition(outputs - inputs)

    def forward(self, x):
        shortcut = self.downsample(x) if self.downsample else x
        for i in range(1, self.count + 1):
            x = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x))
            x = torch.relu(x if i < self.count else x + shortcut)
        return x


def resnet(blocks, bottleneck, photographs, classes):
    inputs, stages = 64, []
    for i, count in enumerate(blocks):
        stage = []
        for block in range(count):
            stage.append(ResidualBlock(inputs, 64 << i, 2 if i > 0 and block == 0 else 1, bottleneck))
            inputs = (256 if bottleneck else 64) << i
        stages.append((f"layer{i + 1}", nn.Sequential(*stage)))
    return nn.Sequential(
        OrderedDict(
            [
                ("conv1", convolution(3, 64, 7, 2) if photographs else convolution(3, 64, 3)),
                ("bn1", nn.BatchNorm2d(64)),
                ("relu", nn.ReLU()),
                ("maxpool", nn.MaxPool2d(3, 2, 1) if photographs else nn.Identity()),
                *stages,
                ("avgpool", nn.AdaptiveAvgPool2d(1)),
                ("flatten", nn.Flatten()),
                ("fc", nn.Linear(inputs, classes)),
            ]
        )
    )


def resnet20(classes):
    inputs, stages = 16, []
    for i in range(3):
        stage = []
        for block in range(3):
            stage.append(ResidualBlock(inputs, 16 << i, 2 if i > 0 and block == 0 else 1, False, projects=False))
            inputs = 16 << i
        stages.append((f"layer{i + 1}", nn.Sequential(*stage)))
    head = [("avgpool", nn.AdaptiveAvgPool2d(1)), ("flatten", nn.Flatten()), ("fc", nn.Linear(inputs, classes))]
    stem = [("conv1", convolution(3, 16, 3)), ("bn1", nn.BatchNorm2d(16)), ("relu", nn.ReLU())]
    return nn.Sequential(OrderedDict([*stem, *stages, *head]))


class DenseLayer(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), convolution(inputs, 12, 3)

    def forward(self, x):
        return torch.cat([x, self.conv1(torch.relu(self.norm1(x)))], 1)


def densenet40(classes):
    parts, channels = [("conv0", convolution(3, 16, 3))], 16
    for block in range(1, 4):
        layers = OrderedDict((f"denselayer{i + 1}", DenseLayer(channels + 12 * i)) for i in range(12))
        parts.append((f"denseblock{block}", nn.Sequential(layers)))
        channels += 12 * 12
        if block < 3:
            transition = [("norm", nn.BatchNorm2d(channels)), ("relu", nn.ReLU()),
                          ("conv", convolution(channels, channels, 1)), ("pool", nn.AvgPool2d(2))]
            parts.append((f"transition{block}", nn.Sequential(OrderedDict(transition))))
    parts.append(("norm5", nn.BatchNorm2d(channels)))
    tail = [("relu", nn.ReLU()), ("pool", nn.AdaptiveAvgPool2d(1)), ("flatten", nn.Flatten()),
            ("classifier", nn.Linear(channels, classes))]
    return nn.Sequential(OrderedDict([("features", nn.Sequential(OrderedDict(parts))), *tail]))


def lenet5(classes):
    return nn.Sequential(OrderedDict([
        ("conv1", nn.Conv2d(3, 6, 5)), ("tanh1", nn.Tanh()), ("pool1", nn.AvgPool2d(2)),
        ("conv2", nn.Conv2d(6, 16, 5)), ("tanh2", nn.Tanh()), ("pool2", nn.AvgPool2d(2)), ("flatten", nn.Flatten()),
        ("fc1", nn.Linear(400, 120)), ("tanh3", nn.Tanh()), ("fc2", nn.Linear(120, 84)), ("tanh4", nn.Tanh()),
        ("fc3", nn.Linear(84, classes)),
    ]))


def caffes_lenet5(classes):
    return nn.Sequential(OrderedDict([
        ("conv1", nn.Conv2d(3, 20, 5)), ("pool1", nn.MaxPool2d(2)), ("conv2", nn.Conv2d(20, 50, 5)),
        ("pool2", nn.MaxPool2d(2)), ("flatten", nn.Flatten()), ("fc1", nn.Linear(1250, 500)), ("relu", nn.ReLU()),
        ("fc2", nn.Linear(500, classes)),
    ]))


def vgg(convolutions, classes):
    layers, inputs = [], 3
    for count, outputs in zip(convolutions, (64, 128, 256, 512, 512)):
        for _ in range(count):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
            inputs = outputs
        layers.append(nn.MaxPool2d(2))
    classifier = nn.Sequential(OrderedDict([("6", nn.Linear(512, classes))]))
    return nn.Sequential(
        OrderedDict([("features", nn.Sequential(*layers)), ("flatten", nn.Flatten()), ("classifier", classifier)])
    )


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Identity(), nn.Linear(4 * width, width), nn.Identity()
        )

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.self_attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(nn.Module):
    def __init__(self, shape, width, depth, heads, patch):
        super().__init__()
        positions = 1 + (shape["height"] // patch) * (shape["width"] // patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.conv_proj = nn.Conv2d(shape["channels"], width, patch, patch)
        self.encoder = nn.Module()
        self.encoder.pos_embedding = nn.Parameter(torch.zeros(1, positions, width))
        self.encoder.layers = nn.Sequential(
            OrderedDict((f"encoder_layer_{i}", EncoderLayer(width, heads)) for i in range(depth))
        )
        self.encoder.ln = nn.LayerNorm(width, eps=1e-6)
        self.heads = nn.Sequential(OrderedDict(head=nn.Linear(width, shape["classes"])))

    def forward(self, images):
        rows = [row.flatten(1) for patch in self.conv_proj(images).unbind(2) for row in patch.unbind(2)]
        x = torch.stack([self.class_token[0].expand(len(images), -1), *rows], 1) + self.encoder.pos_embedding
        return self.heads(self.encoder.ln(self.encoder.layers(x))[:, 0])


class Gpt(nn.Module):
    """Modules have nanoGPT's names, except the attention's, which `state` translates."""

    def __init__(self, shape, tied, width, depth, heads):
        super().__init__()
        block = lambda: nn.ModuleDict(
            {
                "ln_1": nn.LayerNorm(width),
                "attn": nn.MultiheadAttention(width, heads, batch_first=True),
                "ln_2": nn.LayerNorm(width),
                "mlp": nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)}),
            }
        )
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(shape["classes"], width),
                "wpe": nn.Embedding(shape["sequence_length"], width),
                "h": nn.ModuleList(block() for _ in range(depth)),
                "ln_f": nn.LayerNorm(width),
            }
        )
        self.lm_head = None if tied else nn.Linear(width, shape["classes"], bias=False)

    def forward(self, tokens):
        parts = self.transformer
        x = parts["wte"](tokens) + parts["wpe"].weight
        later = torch.ones(tokens.shape[1], tokens.shape[1]).triu(1).bool()
        for block in parts["h"]:
            y = block["ln_1"](x)
            x = x + block["attn"](y, y, y, attn_mask=later, need_weights=False)[0]
            y = block["mlp"]["c_fc"](block["ln_2"](x))
            gelu = 0.5 * y * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (y + 0.044715 * y**3)))
            x = x + block["mlp"]["c_proj"](gelu)
        x = parts["ln_f"](x)
        return self.lm_head(x) if self.lm_head else x @ parts["wte"].weight.T


class LstmLanguageModel(nn.Module):
    def __init__(self, shape, embedding, width, tied):
        super().__init__()
        self.encoder = nn.Embedding(shape["classes"], embedding)
        self.rnn = nn.LSTM(embedding, width, 2, batch_first=True)
        self.decoder = None if tied else nn.Linear(width, shape["classes"])

    def forward(self, tokens):
        x, _ = self.rnn(self.encoder(tokens))
        return self.decoder(x) if self.decoder else x @ self.encoder.weight.T


def own_cases():
    yield "resnet18", {"name": "resnet18"}, CIFAR, resnet([2, 2, 2, 2], False, False, 10)
    yield "vgg16", {"name": "vgg16"}, CIFAR, vgg((2, 2, 3, 3, 3), 10)
    yield "vgg19", {"name": "vgg19"}, CIFAR, vgg((2, 2, 4, 4, 4), 10)
    yield "resnet20", {"name": "resnet20"}, CIFAR, resnet20(10)
    yield "densenet40_k12", {"name": "densenet40_k12"}, CIFAR, densenet40(10)
    yield "lenet5", {"name": "lenet5"}, CIFAR, lenet5(10)
    yield "lenet5 of Caffe", {"name": "lenet5", "variant": "caffe"}, CIFAR, caffes_lenet5(10)
    yield "vit_tiny", {"name": "vit_tiny", **VIT}, PHOTOGRAPH, VisionTransformer(PHOTOGRAPH, **VIT)
    yield "gpt_tiny", {"name": "gpt_tiny", **GPT}, TEXT, Gpt(TEXT, True, **GPT)
    yield "gpt, untied", {"name": "gpt", "tied_head": False, **GPT}, TEXT, Gpt(TEXT, False, **GPT)
    char = {"name": "char_lstm", "embedding": 12, "width": 20}
    yield "char_lstm", char, TEXT, LstmLanguageModel(TEXT, 12, 20, False)
    word = {"name": "word_lstm", "embedding": 20, "width": 20, "tied_head": True}
    yield "word_lstm, tied", word, TEXT, LstmLanguageModel(TEXT, 20, 20, True)
    if not torchvision:
        yield "resnet152", {"name": "resnet152"}, PHOTOGRAPH, resnet([3, 8, 36, 3], True, True, 7)


def torchvision_cases():
    models = torchvision.models
    for name in ("alexnet", "resnet18", "resnet50", "resnet152"):
        yield name, {"name": name}, PHOTOGRAPH, getattr(models, name)(weights=None, num_classes=7)
    vit = models.VisionTransformer(
        image_size=32, patch_size=8, num_layers=3, num_heads=4, hidden_dim=24, mlp_dim=96, num_classes=10
    )
    yield "vit_tiny", {"name": "vit_tiny", **VIT}, CIFAR, vit


def random_inputs(shape):
    if "sequence_length" in shape:
        return torch.randint(shape["classes"], (4, shape["sequence_length"]))
    return torch.randn(4, shape["channels"], shape["height"], shape["width"])


def perturb(model, inputs):
    """Moves every parameter off its initial value, which for some is zero; running averages become one batch's."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.02 * torch.randn_like(parameter)
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = 1
        model.train()(inputs)


def state(model):
    names = {"attn.in_proj_": "attn.c_attn.", "attn.out_proj.": "attn.c_proj."}
    out = {}
    for name, tensor in model.state_dict().items():
        for theirs, ours in names.items():
            if "transformer.h." in name:
                name = name.replace(theirs, ours)
        out[name] = tensor
    return out


def our_logits(trainer, folder, model, shape, weights, inputs):
    paths = {key: str(folder / f"{key}.pt") for key in ("weights", "inputs", "output")}
    torch.save(weights, paths["weights"])
    torch.save({"inputs": inputs}, paths["inputs"])
    file = folder / "forward.json"
    file.write_text(json.dumps({"schema_version": 1, "model": model, "shape": shape, **paths}))
    done = subprocess.run([trainer, "forward", file], check=True, timeout=200, stderr=subprocess.PIPE, text=True)
    print(done.stderr, end="", file=sys.stderr)
    converted = any(tensor.dtype == torch.float16 for tensor in weights.values())
    assert ("converted from Half" in done.stderr) == converted, done.stderr
    return torch.load(paths["output"])["logits"]


def compare(trainer, label, model, shape, reference):
    inputs = random_inputs(shape)
    perturb(reference, inputs)
    with torch.no_grad():
        theirs = reference.eval()(inputs)
    with tempfile.TemporaryDirectory() as folder:
        ours = our_logits(trainer, Path(folder), model, shape, state(reference), inputs)
    assert ours.shape == theirs.shape, (label, ours.shape, theirs.shape)
    spread = (theirs - theirs.mean()).abs().max().item()
    difference = (ours - theirs).abs().max().item() / spread
    print(f"{label}: largest difference {difference:.2e}, logits' spread {spread:.3g}")
    assert difference < RELATIVE_TOLERANCE, label


def check_half_weights(trainer):
    """Weights of half precision are converted, and the log reports it."""
    shape = {"channels": 1, "height": 4, "width": 4, "classes": 3}
    own = nn.Sequential(OrderedDict(fc1=nn.Linear(16, 8), relu=nn.ReLU(), fc2=nn.Linear(8, 3))).half().float()
    weights = {name: tensor.half() for name, tensor in own.state_dict().items()}
    inputs = random_inputs(shape)
    with tempfile.TemporaryDirectory() as folder:
        ours = our_logits(trainer, Path(folder), {"name": "mlp", "hidden": [8]}, shape, weights, inputs)
    assert torch.allclose(ours, own(inputs.flatten(1)), atol=1e-5), "weights of half precision"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.manual_seed(0)
    compare_with_ours = partial(compare, sys.argv[1])
    check_half_weights(sys.argv[1])
    for label, model, shape, reference in own_cases():
        compare_with_ours(f"{label} against PyTorch's layers", model, shape, reference)
    if not torchvision:
        print("torchvision is missing (install python3-torchvision): compared with PyTorch's layers only")
        return
    for label, model, shape, reference in torchvision_cases():
        compare_with_ours(f"{label} against torchvision {torchvision.__version__}", model, shape, reference)


if __name__ == "__main__":
    main()
