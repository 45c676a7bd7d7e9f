// thinpipe schema: prints the JSON Schema of a kind of input file, for editors.
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

const std::vector<std::string> schema_kinds = {"experiment", "topology"};

int schema(const std::string& kind) {
  if (std::ranges::find(schema_kinds, kind) == schema_kinds.end()) {
    throw InputError({"thinpipe schema", ""},
                     fmt::format("unknown name \"{}\"{}", kind, suggestion(kind, schema_kinds)));
  }
  // The schema of topologies is written by hand; that of experiments is generated from the trainer's options.
  fmt::print("{}", kind == "topology" ? read_file(data_folder() / "harness/schema/topology.schema.json")
                                      : experiment_schema(TrainerProgram::find().describe()).dump(2) + "\n");
  return 0;
}

void add_schema(CLI::App& program, Invocation& invocation) {
  const auto kind = std::make_shared<std::string>();
  CLI::App& command =
      *program.add_subcommand("schema", "Print the JSON Schema of a kind of file, for editors");
  command.add_option("kind", *kind, fmt::format("{}", fmt::join(schema_kinds, ", ")))
      ->required()
      ->type_name("KIND");
  command.footer(
      "Examples:\n"
      "  thinpipe schema experiment > experiment.schema.json\n"
      "  thinpipe schema topology\n"
      "If a file's first member is \"$schema\": \"experiment.schema.json\", editors such as VS Code\n"
      "complete, explain and check it while you type. The build writes this file beside the program.");
  command.callback([kind, &invocation] { invocation.action = [kind] { return schema(*kind); }; });
}

THINPIPE_REGISTER(Command){9, add_schema};

}  // namespace
}  // namespace thinpipe
