// Whether a measurement was disturbed from outside this machine, where no test can see or help it.
#pragma once

#include <chrono>
#include <fstream>
#include <string>

#include <unistd.h>

namespace thinpipe::netem {

// Of a virtual machine: what its host has given to others, of all its processors' time since construction.
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

}  // namespace thinpipe::netem
