// SPDX-License-Identifier: Apache-2.0
// A cache of its own for each test.
#pragma once

#include <cstdlib>
#include <string>

namespace thinpipe::trainer {

// Sets XDG_CACHE_HOME while it lives.
class CacheVariable {
 public:
  explicit CacheVariable(const std::string& folder) {
    if (const char* const before = std::getenv(name); before != nullptr) before_ = before;
    ::setenv(name, folder.c_str(), 1);
  }
  ~CacheVariable() { before_.empty() ? ::unsetenv(name) : ::setenv(name, before_.c_str(), 1); }
  CacheVariable(const CacheVariable&) = delete;
  CacheVariable& operator=(const CacheVariable&) = delete;
  CacheVariable(CacheVariable&&) = delete;
  CacheVariable& operator=(CacheVariable&&) = delete;

 private:
  static constexpr const char* name = "XDG_CACHE_HOME";
  std::string before_;
};

}  // namespace thinpipe::trainer
