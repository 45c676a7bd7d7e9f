// SPDX-License-Identifier: Apache-2.0
// Names that users write or read and that had another name in older versions. The table is renamed_names.json,
// which the build embeds and plotting/shared/renamed_names.py reads:
//
//   {"configuration_at": {"record": "/config", …},       where documents hold a run's configuration
//    "changes": [{"schema_versions": {"record": 2, …},   the first version of each kind with the new names
//                 "renamed": {"configuration": [{"at": "/pruning/old", "name": "new"}],
//                             "record": [{"at": "/replay/old", "name": "new", "values": {"was": "is"}}], …}}]}
//
// "at" is the path of the old name. In it, "*" is any member or element, and "**" any number of them, or none.
// Entries of a kind apply in order, so names inside an object come before the object's own. Kinds without a
// schema version, such as events, are never upgraded: their entries only explain old names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace thinpipe {

class RenamedNames {
 public:
  // `table` is in the format above.
  explicit RenamedNames(const nlohmann::json& table);

  // Gives a document of an older "schema_version" its current names. Keeps the version, because readers may
  // depend on members that older versions lack. `kind` is a key of "schema_versions".
  void upgrade(nlohmann::json& document, const std::string& kind) const;

  // Returns the configuration with its members' original names. Run ids are hashes over these, so renaming a
  // member does not change them.
  nlohmann::json with_first_names(nlohmann::json configuration) const;

  // Returns the current name of a member that was called `old`, if it is among `known`.
  std::optional<std::string> current_name(std::string_view old, const std::vector<std::string>& known) const;

  // Does the same for the value of a member.
  std::optional<std::string> current_value(std::string_view old, const std::vector<std::string>& known) const;

 private:
  struct Renamed {
    std::vector<std::string> at;                // the keys of the path; the last is the old name
    std::string name;                           // the old one if only values changed
    std::map<std::string, std::string> values;  // old to new
  };
  using List = std::vector<Renamed>;
  struct Change {
    std::map<std::string, std::int64_t> schema_versions;
    std::map<std::string, List> renamed;  // by the kind of document

    const List& of(const std::string& kind) const;
  };

  static Renamed parse_renamed(const nlohmann::json& entry);
  static Renamed reversed(const Renamed& renamed);
  static void apply(const List& list, nlohmann::json& value);

  std::map<std::string, std::string> configuration_at_;
  std::vector<Change> changes_;
  List backward_;  // from current names of configurations to the first ones
};

// Returns the names that this version has renamed.
const RenamedNames& renamed_names();

}  // namespace thinpipe
