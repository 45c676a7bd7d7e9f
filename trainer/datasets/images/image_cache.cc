// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/images/image_cache.hh"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "common/support/atomic_file.hh"
#include "common/support/json_object.hh"
#include "common/support/parallel.hh"
#include "common/support/readable.hh"
#include "trainer/base/cache_folder.hh"
#include "trainer/base/input_file.hh"
#include "trainer/base/xxh3.hh"
#include "trainer/datasets/images/image_file.hh"
#include "trainer/datasets/images/resize.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;

// A change of the decoder, of the scaling or of this file's layout needs another number.
constexpr std::uint64_t layout = 1;
// The file ends with this many bytes of JSON, filled up with spaces.
constexpr std::size_t trailer_bytes = 4096;
constexpr std::size_t decoded_at_once = 256;
constexpr std::uint64_t largest_file_bytes = std::uint64_t{1} << 30;
constexpr std::chrono::seconds log_period{5};
constexpr std::size_t failures_shown = 10;
constexpr std::size_t most_channels = 3;

void add_files(Xxh3& key, const std::vector<ImageFile>& files) {
  key.add(std::uint64_t{files.size()});
  for (const ImageFile& file : files) {
    key.add(std::string_view(file.path));
    key.add(file.size_bytes);
    key.add(static_cast<std::uint64_t>(file.modified_ns));
    key.add(static_cast<std::uint64_t>(file.label));
  }
}

std::string key_of(const fs::path& folder, const ImageFolder& images, const ImageForm& form) {
  Xxh3 key;
  key.add(layout);
  key.add(std::string_view(fs::canonical(folder).native()));
  for (const std::int64_t number : {form.shorter_side, form.side, form.channels}) {
    key.add(static_cast<std::uint64_t>(number));
  }
  add_files(key, images.train);
  add_files(key, images.test);
  return key.digits();
}

// The sums of a channel's pixels and of their squares, as integers, so without rounding.
struct ChannelSums {
  std::uint64_t pixels = 0;
  std::uint64_t squares = 0;
};

struct Prepared {
  std::vector<std::uint8_t> planes;
  std::string content_hash;
  std::array<ChannelSums, most_channels> sums{};
  std::string failure;  // the reason if the image cannot be decoded
};

std::array<ChannelSums, most_channels> sums_of(const std::vector<std::uint8_t>& planes,
                                               const ImageForm& form) {
  std::array<ChannelSums, most_channels> sums{};
  const auto plane = static_cast<std::size_t>(form.side * form.side);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    sums[i / plane].pixels += planes[i];
    sums[i / plane].squares += std::uint64_t{planes[i]} * planes[i];
  }
  return sums;
}

Prepared prepare(const fs::path& path, const ImageForm& form) {
  Prepared out;
  try {
    const InputFile file(path);
    if (file.size() > largest_file_bytes) throw Error(fmt::format("more than {} bytes", largest_file_bytes));
    const std::string bytes = file.beginning(file.size());
    Xxh3 hash;
    hash.add(bytes.data(), bytes.size());
    out.content_hash = hash.digits();
    Image image = decode_image(bytes);
    if (form.channels == 1) image = to_grey(image);
    out.planes = resize_and_crop(image, form.shorter_side, form.side);
    out.sums = sums_of(out.planes, form);
  } catch (const std::exception& error) {
    out.failure = error.what();
    if (out.failure.find(path.string()) == std::string::npos)
      out.failure = fmt::format("{}: {}", path.string(), out.failure);
  }
  return out;
}

// Decodes the images of a folder, in parallel, and writes them in order.
class Builder {
 public:
  Builder(AtomicFile& file, fs::path folder, const ImageForm& form, std::size_t images)
      : file_(file), folder_(std::move(folder)), form_(form), images_(images) {}

  void add(const std::vector<ImageFile>& files, bool train) {
    content_.add(std::uint64_t{files.size()});
    std::vector<Prepared> batch;
    for (std::size_t begin = 0; begin < files.size(); begin += batch.size()) {
      batch.assign(std::min(decoded_at_once, files.size() - begin), {});
      in_parallel(batch.size(),
                  [&](std::size_t i) { batch[i] = prepare(folder_ / files[begin + i].path, form_); });
      for (std::size_t i = 0; i < batch.size(); ++i) add(batch[i], files[begin + i].label, train);
      log_progress(batch.size());
    }
  }

  // Throws Error if an image could not be decoded.
  void finish(std::size_t train_images) {
    if (failures_ > 0) {
      const std::size_t unnamed = failures_ - named_failures_.size();
      throw Error(fmt::format("cannot decode {} of {} images: {}{}", failures_, images_,
                              fmt::join(named_failures_, "; "),
                              unnamed > 0 ? fmt::format("; and {} more", unnamed) : ""));
    }
    Json trailer = {{"content_hash", content_.digits()}};
    const double pixels =
        static_cast<double>(train_images) * static_cast<double>(form_.side) * static_cast<double>(form_.side);
    for (std::size_t c = 0; c < static_cast<std::size_t>(form_.channels); ++c) {
      const double mean = static_cast<double>(sums_[c].pixels) / 255 / pixels;
      const double variance = static_cast<double>(sums_[c].squares) / 255 / 255 / pixels - mean * mean;
      // A constant channel's variance is 0 up to rounding.
      trailer["mean"].push_back(mean);
      trailer["deviation"].push_back(variance > 1e-9 ? std::sqrt(variance) : 1);
    }
    std::string text = trailer.dump();
    text.resize(trailer_bytes - 1, ' ');
    file_.write(text + '\n');
    file_.commit();
  }

 private:
  void add(const Prepared& image, std::int64_t label, bool train) {
    if (!image.failure.empty()) {
      if (++failures_ <= failures_shown) named_failures_.push_back(image.failure);
      return;
    }
    content_.add(static_cast<std::uint64_t>(label));
    content_.add(std::string_view(image.content_hash));
    if (failures_ == 0)  // otherwise the file is of no use
      file_.write({reinterpret_cast<const char*>(image.planes.data()), image.planes.size()});
    for (std::size_t c = 0; train && c < sums_.size(); ++c) {
      sums_[c].pixels += image.sums[c].pixels;
      sums_[c].squares += image.sums[c].squares;
    }
  }

  void log_progress(std::size_t more) {
    done_ += more;
    const auto now = std::chrono::steady_clock::now();
    if (now < logged_at_ + log_period) return;
    logged_at_ = now;
    spdlog::info("decoded {} of {} images of {}", done_, images_, folder_.string());
  }

  AtomicFile& file_;
  fs::path folder_;
  ImageForm form_;
  std::size_t images_;
  std::size_t done_ = 0;
  Xxh3 content_;
  std::array<ChannelSums, most_channels> sums_{};  // of the training images
  std::size_t failures_ = 0;
  std::vector<std::string> named_failures_;
  std::chrono::steady_clock::time_point logged_at_ = std::chrono::steady_clock::now();
};

std::uint64_t pixel_bytes(const ImageFolder& images, const ImageForm& form) {
  return (images.train.size() + images.test.size()) * static_cast<std::uint64_t>(form.image_bytes());
}

// Returns nullopt if there is no such file, or if it is damaged.
std::optional<CachedImages> try_open(const fs::path& path, std::uint64_t pixels) {
  if (!fs::exists(path)) return std::nullopt;
  CachedImages found{
      .file = std::make_shared<MappedFile>(path), .content_hash = {}, .mean = {}, .deviation = {}};
  const auto bytes = found.file->bytes();
  if (bytes.size() != pixels + trailer_bytes) return std::nullopt;
  const auto trailer = bytes.subspan(pixels);
  const Json about = Json::parse(trailer.begin(), trailer.end(), shallow, /*allow_exceptions=*/false);
  try {
    found.content_hash = about.at("content_hash").get<std::string>();
    found.mean = about.at("mean").get<std::vector<double>>();
    found.deviation = about.at("deviation").get<std::vector<double>>();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
  return found;
}

void expect_space(const fs::path& cache, std::uint64_t bytes) {
  const std::uint64_t free_bytes = fs::space(cache).available;
  if (bytes <= free_bytes) return;
  throw Error(fmt::format(
      "the decoded images need {}, but {} has {} free: set XDG_CACHE_HOME to a folder with more space",
      format_bytes(static_cast<double>(bytes)), cache.string(),
      format_bytes(static_cast<double>(free_bytes))));
}

// Removes the unfinished file of an earlier process that was killed. The caller holds the lock.
void remove_leftovers(const fs::path& path) {
  const std::string beginning = "." + path.filename().string() + ".";
  for (const fs::directory_entry& entry : fs::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename();
    if (name.starts_with(beginning) && name.ends_with(".tmp")) fs::remove(entry.path());
  }
}

}  // namespace

CachedImages open_cached_images(const fs::path& cache, const fs::path& folder, const ImageFolder& images,
                                const ImageForm& form) {
  const fs::path path = cache / (key_of(folder, images, form) + ".images");
  const std::uint64_t bytes = pixel_bytes(images, form);
  if (auto found = try_open(path, bytes)) return *std::move(found);
  const FileDescriptor lock = hold_lock(path);
  if (auto found = try_open(path, bytes)) return *std::move(found);
  remove_leftovers(path);
  expect_space(cache, bytes);
  const std::size_t count = images.train.size() + images.test.size();
  spdlog::info("decoding {} images of {} once, to {}", count, folder.string(), path.string());
  AtomicFile file(path);
  Builder builder(file, folder, form, count);
  builder.add(images.train, true);
  builder.add(images.test, false);
  builder.finish(images.train.size());
  if (auto found = try_open(path, bytes)) return *std::move(found);
  throw Error(fmt::format("{} changed while it was written", path.string()));
}

}  // namespace thinpipe::trainer
