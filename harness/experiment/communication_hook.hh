// SPDX-License-Identifier: Apache-2.0
// A communication hook of the user's in a Python file, for an external trainer with DistributedDataParallel:
//
//   "hook": "mine.py:hook"    or    "hook": {"name": "mine.py:hook", "rank": 2}
#pragma once

#include <filesystem>
#include <string>

#include "common/support/options.hh"

namespace thinpipe {

struct CommunicationHook {
  static constexpr std::string_view shorthand = "name";

  std::string name;
  Json options = Json::object();  // the function's own, which Python checks
  bool is_text = false;           // written as a string, without options

  void visit(auto& field) {
    field("name", name,
          Rule{.effect = "FILE.py:FUNCTION, relative to the experiment's folder; further members are options "
                         "of the function",
               .required = true});
  }
};

// Accepts any further members: they are the function's options.
void read_value(const Json& value, const Place& place, const Rule& rule, CommunicationHook& out);

// Returns {"name": …, options…}.
Json to_json(const CommunicationHook& hook);

// Makes the file absolute. Throws InputError if the name is not FILE.py:FUNCTION or the file is missing. `place` is
// the hook's.
void locate_hook(CommunicationHook& hook, const std::filesystem::path& folder, const Place& place);

// Returns the name of the function.
std::string function_of(const CommunicationHook& hook);

// Returns the place of an error that `thinpipe-trainer check-hook` found at `pointer` below the hook.
Place place_in(const CommunicationHook& hook, const Place& place, const std::string& pointer);

}  // namespace thinpipe
