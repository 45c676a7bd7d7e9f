// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/recorder.hh"

#include <algorithm>
#include <utility>

namespace thinpipe {
namespace {

void append(std::vector<StepRun>& runs, const StepRun& run) {
  if (!runs.empty() && runs.back().exchange == run.exchange) {
    runs.back().steps += run.steps;
  } else {
    runs.push_back(run);
  }
}

}  // namespace

std::size_t ExchangeTable::number_of(Exchange exchange) {
  return numbers_.try_emplace(std::move(exchange), numbers_.size()).first->second;
}

std::vector<Exchange> ExchangeTable::by_number() const {
  std::vector<Exchange> out(numbers_.size());
  for (const auto& [exchange, number] : numbers_) out[number] = exchange;
  return out;
}

TraceRecorder::TraceRecorder(const CommunicationTrace& recorded, std::size_t rank)
    : layouts_(recorded.layouts), steps_(recorded.workers.at(rank)) {
  for (StepRun& run : steps_) {
    if (run.exchange) run.exchange = exchanges_.number_of(recorded.exchanges.at(*run.exchange));
  }
}

std::size_t TraceRecorder::lay_out(TracedLayout layout) {
  const auto known = std::ranges::find(layouts_, layout);
  if (known != layouts_.end()) return static_cast<std::size_t>(known - layouts_.begin());
  layouts_.push_back(std::move(layout));
  return layouts_.size() - 1;
}

void TraceRecorder::begin_exchange(std::size_t layout, std::optional<std::int64_t> overlap_steps) {
  current_.emplace(Exchange{.layout = layout, .overlap_steps = overlap_steps});
  current_->buckets.resize(layouts_[layout].size());
  in_flight_ = true;
  steps_since_begin_ = 0;
}

void TraceRecorder::begin_bucket(std::size_t bucket) {
  bucket_ = bucket;
}

void TraceRecorder::add(CollectiveCall call) {
  current_->buckets[bucket_].push_back(std::move(call));
}

void TraceRecorder::finish_exchange() {
  in_flight_ = false;
  if (steps_since_begin_ == 0) return;
  append_current();
  if (steps_since_begin_ > 1) append(steps_, {.exchange = {}, .steps = steps_since_begin_ - 1});
}

void TraceRecorder::end_step() {
  if (in_flight_) {
    ++steps_since_begin_;
  } else if (current_) {
    append_current();
  } else {
    append(steps_, {});
  }
}

void TraceRecorder::append_current() {
  append(steps_, {.exchange = exchanges_.number_of(*std::exchange(current_, std::nullopt))});
}

void TraceRecorder::finish(const std::vector<TraceRecorder>& recorders, CommunicationTrace& trace) {
  ExchangeTable table;
  trace.layouts = recorders.front().layouts_;
  trace.workers.clear();
  for (const TraceRecorder& recorder : recorders) {
    std::vector<std::size_t> numbers;
    for (Exchange& exchange : recorder.exchanges_.by_number()) {
      numbers.push_back(table.number_of(std::move(exchange)));
    }
    std::vector<StepRun>& steps = trace.workers.emplace_back(recorder.steps_);
    for (StepRun& run : steps) {
      if (run.exchange) run.exchange = numbers[*run.exchange];
    }
  }
  trace.exchanges = table.by_number();
}

}  // namespace thinpipe
