// SPDX-License-Identifier: Apache-2.0
// The links whose frames a command captures.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "netem/link_captures.hh"

namespace thinpipe {

inline constexpr const char* capture_option = "--capture";

struct CaptureChoice {
  std::vector<std::string> links = {};
  std::string max_size = "100 MB";

  // Adds --capture and --capture-size. `files`: where the files come to lie, for the help.
  void add_to(CLI::App& command, const std::string& files);

  // Throws InputError for a size that is none.
  netem::CaptureOptions options() const;
};

}  // namespace thinpipe
