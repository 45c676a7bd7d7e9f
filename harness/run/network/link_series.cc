// SPDX-License-Identifier: Apache-2.0
#include "harness/run/network/link_series.hh"

#include <algorithm>
#include <cmath>

#include <fcntl.h>
#include <unistd.h>

namespace thinpipe {
namespace {

using Reading = std::vector<netem::LinkCounters>;

constexpr double time_rounding_s = 1e-6;

// A counter that has gone back was reset by the kernel.
std::int64_t increase(std::uint64_t before, std::uint64_t after) {
  return after < before ? 0 : static_cast<std::int64_t>(after - before);
}

// To 0.1 ms: a reading takes about as long.
double rounded_s(double time_s) {
  return std::round(time_s * 1e4) / 1e4;
}

bool all_zero(const Json& values) {
  return std::ranges::all_of(values, [](const Json& value) { return value == 0; });
}

}  // namespace

LinkSeries::LinkSeries(const std::filesystem::path& file, double samples_per_s, const Reading& first)
    : path_(file),
      file_(FileDescriptor::open(file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND)),
      period_s_(1 / samples_per_s) {
  restart(first);
}

void LinkSeries::restart(const Reading& first) {
  system_call("empty " + path_.string(), ::ftruncate(file_.get(), 0));
  begin_s_ = first.empty() ? 0 : first.front().time_s;
  due_s_ = begin_s_ + period_s_;
  written_ = first;
  max_queue_bytes_.assign(first.size(), 0);
  is_idle_ = ended_ = false;
  Json directions = Json::array();
  for (const netem::LinkCounters& direction : first) directions.push_back(direction.name);
  write_line({{"directions", std::move(directions)}, {"period_s", period_s_}});
}

void LinkSeries::add(const Reading& reading) {
  if (ended_ || reading.empty()) return;
  for (std::size_t i = 0; i < reading.size(); ++i) {
    const auto waiting = static_cast<std::int64_t>(reading[i].backlog_bytes);
    max_queue_bytes_[i] = std::max(max_queue_bytes_[i], waiting);
  }
  const double now_s = reading.front().time_s;
  if (now_s < due_s_ - time_rounding_s) return;
  write(reading);
  // On a grid, so that the samples are as many as asked for although readings come every few milliseconds.
  while (due_s_ <= now_s + time_rounding_s) due_s_ += period_s_;
}

void LinkSeries::mark(const char* what, std::int64_t iteration, double now_s) {
  write_line({{"at_s", rounded_s(now_s - begin_s_)}, {what, iteration}});
}

void LinkSeries::end(const Reading& last) {
  add(last);
  if (!ended_ && !last.empty() && last.front().time_s > written_.front().time_s) write(last);
  ended_ = true;
}

void LinkSeries::write(const Reading& reading) {
  Json bytes = Json::array();
  Json drops = Json::array();
  Json marks = Json::array();
  for (std::size_t i = 0; i < reading.size(); ++i) {
    bytes.push_back(increase(written_[i].bytes, reading[i].bytes));
    drops.push_back(increase(written_[i].drops, reading[i].drops));
    marks.push_back(increase(written_[i].marks.value_or(0), reading[i].marks.value_or(0)));
  }
  Json queues = max_queue_bytes_;
  const double from_s = written_.front().time_s;
  written_ = reading;
  std::ranges::fill(max_queue_bytes_, 0);
  // Of a pause, only the first sample is written.
  const bool idle = all_zero(bytes) && all_zero(drops) && all_zero(marks) && all_zero(queues);
  const bool continues = idle && is_idle_;
  is_idle_ = idle;
  if (continues) return;
  Json sample = {{"from_s", rounded_s(from_s - begin_s_)},
                 {"at_s", rounded_s(reading.front().time_s - begin_s_)},
                 {"bytes", std::move(bytes)},
                 {"max_queue_bytes", std::move(queues)},
                 {"drops", std::move(drops)}};
  if (std::ranges::any_of(reading, [](const auto& direction) { return direction.marks.has_value(); }))
    sample["marks"] = std::move(marks);
  write_line(sample);
}

void LinkSeries::write_line(const Json& line) const {
  write_all(file_, line.dump() + "\n", "write " + path_.string());
}

}  // namespace thinpipe
