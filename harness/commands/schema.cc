// SPDX-License-Identifier: Apache-2.0
// thinpipe schema: prints the JSON Schema of a kind of file, for editors and readers of records.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/file_descriptor.hh"
#include "common/support/nearest.hh"
#include "harness/commands/command.hh"
#include "harness/experiment/data_folder.hh"
#include "harness/plan/trainer_program.hh"
#include "harness/schema/experiment_schema.hh"

namespace thinpipe {
namespace {

const std::vector<std::string> schema_kinds = {"experiment", "record", "topology"};

int schema(const std::string& kind) {
  if (std::ranges::find(schema_kinds, kind) == schema_kinds.end()) {
    throw InputError({"thinpipe schema", ""},
                     fmt::format("unknown name \"{}\"{}", kind, suggestion(kind, schema_kinds)));
  }
  // The schema of experiments is generated from the trainer's options; the others are written by hand.
  fmt::print("{}", kind == "experiment"
                       ? experiment_schema(TrainerProgram::find().describe()).dump(2) + "\n"
                       : read_file(data_folder() / fmt::format("harness/schema/{}.schema.json", kind)));
  return 0;
}

void add_schema(CLI::App& program, Invocation& invocation) {
  const auto kind = std::make_shared<std::string>();
  CLI::App& command =
      *program.add_subcommand("schema", "Print the JSON Schema of experiments, topologies or records");
  command.add_option("kind", *kind, fmt::format("{}", fmt::join(schema_kinds, ", ")))
      ->required()
      ->type_name("KIND");
  command.footer(
      "Examples:\n"
      "  thinpipe schema experiment > experiment.schema.json\n"
      "  thinpipe schema topology\n"
      "  thinpipe schema record\n"
      "If a file's first member is \"$schema\": \"experiment.schema.json\", editors such as VS Code\n"
      "complete, explain and check it while you type. The build writes this file beside the program.");
  command.callback([kind, &invocation] { invocation.action = [kind] { return schema(*kind); }; });
}

THINPIPE_REGISTER(Command){9, add_schema};

}  // namespace
}  // namespace thinpipe
