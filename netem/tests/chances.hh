// SPDX-License-Identifier: Apache-2.0
// Repeats measurements whose bounds hold only while the machine is not overloaded.
#pragma once

#include <chrono>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace thinpipe::netem {

// The CPU time that a virtual machine's host took away (steal), as a share of all its CPUs' time since
// construction.
class StolenTime {
 public:
  double share() const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
    const double capacity_s = passed.count() * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
    return (stolen_s() - before_s_) / capacity_s;
  }

 private:
  // The ninth word of the first line, "cpu user nice system idle iowait irq softirq steal ...".
  static double stolen_s() {
    std::ifstream file("/proc/stat");
    std::string word;
    for (int i = 0; i < 9; ++i) file >> word;
    return std::stod(word) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double before_s_ = stolen_s();
};

// Up to four attempts:
//   Chances chances;
//   while (is_off(value) && chances.left()) value = measure();
//   if (chances.undecided()) GTEST_SKIP() << chances.reason();
//
// Attempts in which a virtual machine's host took its CPUs away do not count, and too many of them leave the
// result undecided.
class Chances {
 public:
  // Ends the previous attempt. Returns true if another one may begin.
  bool left() {
    if (is_running_) ++(stolen_.share() > disturbing_share ? disturbed_ : judged_);
    is_running_ = true;
    stolen_ = {};
    return judged_ < max_judged && disturbed_ < max_disturbed;
  }

  bool undecided() const { return disturbed_ >= max_disturbed && judged_ < max_judged; }
  std::string reason() const {
    return fmt::format(
        "not judged: this virtual machine's host took more than {} % of its CPU time in {} of {} attempts",
        100 * disturbing_share, disturbed_, disturbed_ + judged_);
  }

 private:
  static constexpr int max_judged = 4;
  static constexpr int max_disturbed = 12;
  static constexpr double disturbing_share = 0.01;

  bool is_running_ = false;
  int judged_ = 0;
  int disturbed_ = 0;
  StolenTime stolen_;
};

}  // namespace thinpipe::netem
