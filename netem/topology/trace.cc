// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/trace.hh"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/units.hh"
#include "common/support/utf8.hh"
#include "netem/topology/frame.hh"
#include "netem/topology/link_shape.hh"

namespace thinpipe::netem {
namespace {

constexpr std::pair<std::string_view, double> headers[] = {{"time_s,rate_bit_per_s", 1},
                                                           {"time_s,rate_mbit_per_s", 1e6}};
constexpr std::size_t max_shown_line_bytes = 200;
constexpr std::int64_t window_ms = static_cast<std::int64_t>(mahimahi_window_s * 1000);
constexpr std::int64_t max_trace_ms = std::int64_t{7} * 24 * 3600 * 1000;

// The lines of a text that are neither empty nor comments, with their numbers.
class Lines {
 public:
  // Skips the byte order mark with which spreadsheets begin a "CSV UTF-8".
  Lines(std::string_view text, const std::string& file) : text_(text), file_(file) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) {
      refuse_file("begins with the byte order mark of UTF-16; save it as UTF-8");
    }
  }

  // Returns the next line; nullopt at the end.
  std::optional<std::string_view> next() {
    while (begin_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', begin_), text_.size());
      std::string_view line = text_.substr(begin_, end - begin_);
      begin_ = end + 1;
      ++number_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty() && !line.starts_with('#')) return line;
    }
    return std::nullopt;
  }

  [[noreturn]] void refuse(const std::string& message) const {
    throw InputError({file_, ""}, fmt::format("line {}: {}", number_, message));
  }

  // Returns a line in the form for messages.
  static std::string show(std::string_view line) { return printable(line.substr(0, max_shown_line_bytes)); }

  [[noreturn]] void refuse_file(const std::string& message) const { throw InputError({file_, ""}, message); }

 private:
  std::string_view text_;
  const std::string& file_;
  std::size_t begin_ = 0;
  std::size_t number_ = 0;
};

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

double factor_of_header(Lines& lines) {
  const std::string expected = fmt::format("the header \"{}\" or \"{}\"", headers[0].first, headers[1].first);
  const auto line = lines.next();
  if (!line) lines.refuse_file(fmt::format("is empty; it must begin with {}", expected));
  for (const auto& [header, factor] : headers) {
    if (*line == header) return factor;
  }
  lines.refuse(fmt::format("must be {}, but is \"{}\"", expected, Lines::show(*line)));
}

RateStep parse_row(std::string_view row, double factor, const Lines& lines) {
  const std::size_t comma = row.find(',');
  const auto at_s = parse<double>(row.substr(0, comma));
  const auto rate = comma == row.npos ? std::nullopt : parse<double>(row.substr(comma + 1));
  if (!at_s || !rate || !std::isfinite(*at_s) || !std::isfinite(*rate)) {
    lines.refuse(fmt::format("must be two numbers, a time and a rate, such as \"5,{:.0f}\", but is \"{}\"",
                             200e6 / factor, Lines::show(row)));
  }
  const RateStep step{*at_s, *rate * factor};
  if (step.rate_bit_per_s < min_rate_bit_per_s || step.rate_bit_per_s > max_rate_bit_per_s) {
    lines.refuse(fmt::format("the rate must be at least {} and at most {}, but is {} bit/s",
                             format_quantity(Quantity::rate, min_rate_bit_per_s),
                             format_quantity(Quantity::rate, max_rate_bit_per_s), step.rate_bit_per_s));
  }
  return step;
}

// Returns how many packets each window can deliver. A packet due at the end of a window belongs to it.
std::vector<std::int64_t> packets_by_window(Lines& lines, std::int64_t& period_ms) {
  std::vector<std::int64_t> packets;
  period_ms = 0;
  while (const auto line = lines.next()) {
    const auto at_ms = parse<std::int64_t>(*line);
    if (!at_ms || *at_ms < 0 || *at_ms > max_trace_ms) {
      lines.refuse(
          fmt::format("must be a whole number of milliseconds from 0 to {} (a week), but is \"{}\"; the "
                      "name of a file of times and rates must end in .csv",
                      max_trace_ms, Lines::show(*line)));
    }
    if (*at_ms < period_ms) {
      lines.refuse(fmt::format("comes at {} ms, after one at {} ms; times must not decrease: sort the lines",
                               *at_ms, period_ms));
    }
    period_ms = *at_ms;
    const auto window = static_cast<std::size_t>(std::max<std::int64_t>(0, *at_ms - 1) / window_ms);
    packets.resize(std::max(packets.size(), window + 1));
    ++packets[window];
  }
  return packets;
}

}  // namespace

RateTrace parse_rate_csv(std::string_view text, const std::string& file) {
  Lines lines(text, file);
  const double factor = factor_of_header(lines);
  RateTrace trace;
  while (const auto row = lines.next()) {
    const RateStep step = parse_row(*row, factor, lines);
    if (trace.steps.empty() && step.at_s != 0) {
      lines.refuse(
          fmt::format("the first time must be 0, but is {}; add a row with the initial rate", step.at_s));
    }
    if (!trace.steps.empty() && step.at_s <= trace.steps.back().at_s) {
      lines.refuse(
          fmt::format("the time {} comes after {}; times must increase: sort the rows and remove duplicates",
                      step.at_s, trace.steps.back().at_s));
    }
    trace.steps.push_back(step);
  }
  if (trace.steps.empty()) lines.refuse_file("has no row below its header; add at least one, for time 0");
  return trace;
}

RateTrace parse_mahimahi(std::string_view text, const std::string& file) {
  Lines lines(text, file);
  std::int64_t period_ms = 0;
  std::vector<std::int64_t> packets = packets_by_window(lines, period_ms);
  if (period_ms == 0) {
    lines.refuse_file("must have a line later than 0 ms: the last line's time is the trace's period");
  }
  const std::int64_t rest_ms = period_ms - static_cast<std::int64_t>(packets.size() - 1) * window_ms;
  if (packets.size() > 1 && 2 * rest_ms < window_ms) {
    packets[packets.size() - 2] += packets.back();
    packets.pop_back();
  }
  RateTrace trace{{}, 1e-3 * static_cast<double>(period_ms)};
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const std::int64_t begin_ms = static_cast<std::int64_t>(i) * window_ms;
    const std::int64_t end_ms = i + 1 == packets.size() ? period_ms : begin_ms + window_ms;
    const double rate =
        8e3 * full_frame_bytes * static_cast<double>(packets[i]) / static_cast<double>(end_ms - begin_ms);
    if (rate > max_rate_bit_per_s) {
      lines.refuse_file(fmt::format("has {} packets from {} to {} ms, more than {} can deliver", packets[i],
                                    begin_ms, end_ms, format_quantity(Quantity::rate, max_rate_bit_per_s)));
    }
    const double held = std::max(rate, min_rate_bit_per_s);
    if (trace.steps.empty() || trace.steps.back().rate_bit_per_s != held) {
      trace.steps.push_back({1e-3 * static_cast<double>(begin_ms), held});
    }
  }
  return trace;
}

RateTrace load_rate_trace(const std::string& path) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const std::exception& error) {
    throw InputError({path, ""}, error.what());
  }
  return path.ends_with(".csv") ? parse_rate_csv(text, path) : parse_mahimahi(text, path);
}

}  // namespace thinpipe::netem
