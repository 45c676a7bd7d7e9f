// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/progress.hh"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/support/readable.hh"
#include "common/support/standard_streams.hh"
#include "common/support/utf8.hh"
#include "harness/records/record_view.hh"
#include "harness/terminal/sparkline.hh"

namespace thinpipe {
namespace {

constexpr std::chrono::milliseconds redraw_period{100};
constexpr std::chrono::seconds log_period{10};
constexpr std::chrono::seconds write_period{2};
constexpr std::size_t curve_columns = 16;
constexpr double smoothing = 0.1;  // weight of the newest iteration in the shown iteration time

std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// Returns when the target was held, or why not.
std::string outcome_of(const record::TargetResult& result) {
  const std::string target = to_string(result.target);
  if (!result.reached) return target + " not reached";
  const record::HeldTarget held = result.held.value_or(record::HeldTarget());
  if (!held.reached) return target + " reached but not held";
  if (!held.train_time_s) return fmt::format("{} after {} iterations", target, held.iteration.value_or(0));
  return fmt::format("{} after {} s", target, three_digits(*held.train_time_s, *held.train_time_s));
}

}  // namespace

Progress::Progress(std::size_t runs) : terminal_(::isatty(STDERR_FILENO) == 1), runs_(runs) {}

Progress::~Progress() {
  erase();
}

void Progress::begin(std::size_t index, const std::string& label, std::int64_t iterations,
                     const std::string& stage) {
  index_ = index;
  label_ = label;
  planned_iterations_ = iterations;
  iteration_ = epoch_ = trained_before_ = 0;
  accuracies_.clear();
  link_use_ = -1;
  iteration_time_s_ = 0;
  stage_ = stage;
  shown_at_ = Clock::now();
  if (!terminal_) note(prefix() + stage);
}

void Progress::on_event(const event::Pretraining& pretraining) {
  stage_ = fmt::format("pre-training, iteration {} of {}", pretraining.iteration, pretraining.iterations);
}

void Progress::on_event(const event::Pretrained& /*pretrained*/) {
  stage_ = "starting";
}

void Progress::on_event(const event::ReplayedIteration& iteration) {
  stage_ = fmt::format("replaying, {} iterations so far, {}/iteration", iteration.iteration,
                       format_time(iteration.times.iteration_time_s));
}

void Progress::on_event(const event::Evaluation& evaluation) {
  if (iteration_ == 0) trained_since_ = Clock::now();
  if (evaluation.test_accuracy) accuracies_.push_back(*evaluation.test_accuracy);
}

void Progress::on_event(const event::Iteration& iteration) {
  // The run continues from a checkpoint, or goes back after a failure.
  if ((iteration_ == 0 && iteration.iteration > 1) || iteration.iteration <= iteration_) {
    trained_since_ = Clock::now();
    trained_before_ = iteration.iteration - 1;
  }
  iteration_ = iteration.iteration;
  epoch_ = static_cast<std::int64_t>(iteration.epoch);
  if (!iteration.times) return;
  const double time_s = iteration.times->iteration_time_s;
  iteration_time_s_ =
      iteration_time_s_ == 0 ? time_s : (1 - smoothing) * iteration_time_s_ + smoothing * time_s;
}

void Progress::wait(std::string stage) {
  stage_ = std::move(stage);
  tick();
}

void Progress::publish(std::filesystem::path file) {
  file_ = std::move(file);
}

void Progress::tick() {
  const auto now = Clock::now();
  if (!file_.empty() && now - written_at_ >= write_period) {
    written_at_ = now;
    std::ofstream(file_) << printable(label_) << '\n' << printable(status()) << '\n';
  }
  if (terminal_ && now - shown_at_ >= redraw_period) {
    shown_at_ = now;
    draw();
  } else if (!terminal_ && now - shown_at_ >= log_period) {
    shown_at_ = now;
    note(prefix() + status());
  }
}

void Progress::note(const std::string& line) {
  erase();
  // Labels and workers' reports may contain control characters.
  const std::string shown = printable_lines(line);
  if (terminal_) {
    print_stderr("{}\n", shown);
  } else {
    print_stderr("{:%H:%M:%S} {}\n", fmt::localtime(std::time(nullptr)), shown);
  }
}

void Progress::end(const Record& record) {
  std::error_code ignored;
  if (!file_.empty()) std::filesystem::remove(file_, ignored);
  file_.clear();
  note(prefix() + summary_line(record));
}

std::string Progress::prefix() const {
  return fmt::format("[{}/{}] {}: ", index_ + 1, runs_, label_);
}

std::string Progress::status() const {
  if (iteration_ == 0) return stage_;
  const bool is_planned = planned_iterations_ > 0;
  std::string out = is_planned
                        ? fmt::format("epoch {}, iteration {}/{}", epoch_, iteration_, planned_iterations_)
                        : fmt::format("iteration {}", iteration_);
  if (!accuracies_.empty()) out += fmt::format(", accuracy {:.3f}", accuracies_.back());
  out += fmt::format(", {}/iteration", format_time(iteration_time_s_));
  if (link_use_ >= 0) out += fmt::format(", link {:.0f} %", 100 * link_use_);
  if (!is_planned) return out;
  const std::chrono::duration<double> elapsed = Clock::now() - trained_since_;
  const auto remaining = static_cast<double>(std::max<std::int64_t>(0, planned_iterations_ - iteration_));
  const auto trained = static_cast<double>(std::max<std::int64_t>(1, iteration_ - trained_before_));
  return out + ", ETA " + format_duration(elapsed.count() * remaining / trained);
}

void Progress::draw() {
  const std::string curve = accuracies_.size() > 1 ? sparkline(accuracies_, curve_columns) + ' ' : "";
  const std::string line = printable(prefix() + curve + status());
  erase();
  print_stderr("{}", first_characters(line, terminal_columns() - 1));
  line_shown_ = true;
}

void Progress::erase() {
  if (!line_shown_) return;
  write_stderr("\r\x1b[K");
  line_shown_ = false;
}

std::string summary_line(const Record& record) {
  if (record.status == "failed") {
    const record::Failure failure = record.error.value_or(record::Failure());
    std::string out = "FAILED";
    if (const auto rank = failure.rank.value_or(std::nullopt)) out += fmt::format(", worker {}", *rank);
    out += fmt::format(" ({}): {}", failure.kind, failure.message);
    for (const std::string& line : failure.log_tail.value_or(std::vector<std::string>()))
      out += "\n    " + line;
    return out;
  }
  if (record.status == "interrupted") return "interrupted";
  std::string out = record.status;
  if (const auto accuracy = final_accuracy(record.curve)) out += fmt::format(", accuracy {:.3f}", *accuracy);
  for (const record::TargetResult& result : record.targets) {
    out += ", " + outcome_of(result);
  }
  if (record.iteration_time_s)
    out += fmt::format(", {}/iteration", format_time(record.iteration_time_s->mean));
  if (record.fidelity) out += ", " + record.fidelity->verdict;
  return out;
}

}  // namespace thinpipe
