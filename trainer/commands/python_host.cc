// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/python_host.hh"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/registry.hh"

namespace thinpipe::trainer {
namespace {

// The package that was built with this program, for THINPIPE_PYTHON_INTERPRETER, or installed with it. Python runs this
// folder's __main__.py and finds the package beside it.
std::filesystem::path built_package() {
  const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto built = programs / "python";
  return std::filesystem::exists(built) ? built : programs.parent_path() / "lib" / "thinpipe" / "python";
}

std::optional<std::string>& version_of_python() {
  static std::optional<std::string> version;
  return version;
}

// Returns nullptr if the variable is not set.
const char* interpreter_of_choice() {
  const char* const named = std::getenv("THINPIPE_PYTHON");
  return named != nullptr && *named != '\0' ? named : nullptr;
}

}  // namespace

void be_python_host(std::string version) {
  version_of_python() = std::move(version);
}

const std::optional<std::string>& python_version() {
  return version_of_python();
}

bool needs_python_host(const Json& description) {
  return !python_version() && (interpreter_of_choice() != nullptr || names_script(description));
}

std::vector<std::string> in_python(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  if (const char* const named = interpreter_of_choice()) {
    out = {named, "-m", "thinpipe"};
  } else if (std::filesystem::exists(built_package() / "__main__.py")) {
    out = {THINPIPE_PYTHON_INTERPRETER, built_package().string()};
  } else {
    throw Error(
        "implementations in Python files need thinpipe's Python package: build the target thinpipe-python, or "
        "set THINPIPE_PYTHON to a Python in which `pip install .` has installed it");
  }
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

std::string remedy_for_python() {
  const char* const named = interpreter_of_choice();
  if (named == nullptr) return "";
  return fmt::format(
      "; THINPIPE_PYTHON is {}: if it lacks thinpipe's package, install it with `{} -m pip install .`, or unset the variable",
      named, named);
}

std::vector<std::string> program_in_python(const std::vector<std::string>& program) {
  const char* const named = interpreter_of_choice();
  std::vector<std::string> out = named != nullptr ? std::vector<std::string>{named} : in_python({"python"});
  out.insert(out.end(), program.begin(), program.end());
  return out;
}

void become(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  throw SystemError(fmt::format("execute {}", words[0]), errno);
}

void continue_in_python(const std::vector<std::string>& arguments) {
  become(in_python(arguments));
}

}  // namespace thinpipe::trainer
