# SPDX-License-Identifier: Apache-2.0
"""Compares the images that the data set image_folder decodes and scales with those of Pillow, which torchvision uses.

Usage: image_folder_test.py PATH/thinpipe-trainer   (exit status 77: skipped, the reason on standard output)
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    from PIL import Image
except ImportError as error:
    print(f"SKIPPED: {error}; install python3-pil and python3-numpy")
    sys.exit(77)

SIDE = 32
TRAILER_BYTES = 4096
# Rounding may differ by one level in each of the two passes.
SCALED_TOLERANCE = 2


def picture(width, height, seed):
    """Returns shapes and noise, with hard edges and all colours."""
    random_numbers = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    pixels = np.stack([255 * x // width, 255 * y // height, (x * y) % 256], axis=2)
    pixels[height // 4 : height // 2, width // 4 : width // 2] = random_numbers.integers(0, 256, 3)
    pixels += random_numbers.integers(-20, 21, pixels.shape)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def write_images(folder, size_of):
    """Writes images of each kind that is read, into the classes' folders in turn, and returns their paths."""
    kinds = [
        ("png", lambda image: image, {}),
        ("png", lambda image: image.convert("L"), {}),
        ("png", lambda image: image.convert("1"), {}),
        ("png", lambda image: image.convert("P", palette=Image.ADAPTIVE, colors=9), {}),
        ("png", lambda image: image.convert("P", palette=Image.ADAPTIVE), {"transparency": 3}),
        ("png", lambda image: Image.merge("RGBA", (*image.split(), image.convert("L"))), {}),
        ("png", lambda image: image.convert("LA"), {}),
        ("jpg", lambda image: image, {"quality": 90}),
        ("jpg", lambda image: image, {"quality": 100, "subsampling": 0}),
        ("jpeg", lambda image: image, {"quality": 30, "progressive": True}),
        ("JPG", lambda image: image, {"quality": 75, "subsampling": 1, "optimize": True}),
        ("jpg", lambda image: image.convert("L"), {}),
        ("jpg", lambda image: image.convert("CMYK"), {}),
    ]
    paths = []
    for number, (ending, convert, options) in enumerate(kinds):
        path = folder / "train" / f"class {number:02}" / f"image.{ending}"
        path.parent.mkdir(parents=True)
        form = "PNG" if ending == "png" else "JPEG"
        convert(picture(*size_of(number), seed=number)).save(path, form, **options)
        paths.append(path)
        test = folder / "test" / path.parent.name / "image.png"
        test.parent.mkdir(parents=True)
        picture(SIDE, SIDE, seed=100 + number).save(test)
    return paths


def decoded_by_trainer(trainer, folder, count, **options):
    """Returns the training images, uint8 [count, 3, side, side]."""
    dataset = {"name": "image_folder", "directory": str(folder), "side": SIDE, **options}
    config = {"workers": 1, "dataset": dataset, "model": {"name": "mlp"}, "training": {"batch_size_per_worker": 1}}
    with tempfile.TemporaryDirectory() as cache:
        answer = subprocess.run(
            [trainer, "check"],
            input=json.dumps([config]),
            env={**os.environ, "XDG_CACHE_HOME": cache},
            capture_output=True,
            text=True,
            check=True,
        )
        (answered,) = json.loads(answer.stdout)
        assert answered["ok"], answered
        (file,) = Path(cache).glob("thinpipe/images/*.images")
        pixels = np.fromfile(file, np.uint8)[:-TRAILER_BYTES]
    channels = options.get("channels", 3)
    return pixels.reshape(-1, channels, SIDE, SIDE)[:count]


def scaled_by_pillow(image, shorter_side, side):
    """Does the same as torchvision's Resize and CenterCrop."""
    width, height = image.size
    shorter = min(width, height)
    size = int(shorter_side * width / shorter), int(shorter_side * height / shorter)
    if size != image.size:
        image = image.resize(size, Image.BILINEAR)
    left, top = int(round((size[0] - side) / 2)), int(round((size[1] - side) / 2))
    return image.crop((left, top, left + side, top + side))


def planes(image):
    pixels = np.asarray(image)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def largest_difference(found, paths, expected):
    worst = 0
    for pixels, path in zip(found, paths):
        difference = np.abs(pixels.astype(int) - planes(expected(Image.open(path))).astype(int)).max()
        print(f"{path.parent.name}/{path.name}: largest difference {difference}")
        worst = max(worst, difference)
    return worst


def main(trainer):
    with tempfile.TemporaryDirectory() as folder:
        same_size = Path(folder) / "same"
        paths = write_images(same_size, lambda _: (SIDE, SIDE))
        decoded = decoded_by_trainer(trainer, same_size, len(paths))
        assert largest_difference(decoded, paths, lambda image: image.convert("RGB")) == 0
        grey = decoded_by_trainer(trainer, same_size, len(paths), channels=1)
        assert largest_difference(grey, paths, lambda image: image.convert("RGB").convert("L")) == 0

        random.seed(1)
        other_sizes = Path(folder) / "other"
        paths = write_images(other_sizes, lambda _: (random.randint(5, 300), random.randint(5, 300)))
        for shorter_side in (SIDE, 40):
            scaled = decoded_by_trainer(trainer, other_sizes, len(paths), shorter_side=shorter_side)
            expected = lambda image: scaled_by_pillow(image.convert("RGB"), shorter_side, SIDE)
            assert largest_difference(scaled, paths, expected) <= SCALED_TOLERANCE


if __name__ == "__main__":
    main(sys.argv[1])
