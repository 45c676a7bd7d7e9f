// SPDX-License-Identifier: Apache-2.0
// The "gloo" backend's options and identity, without Gloo's headers.
//
// When a peer dies, its neighbours' calls fail at once, with one exception: Gloo forgets a message that was
// half sent or half received when the connection broke, and workers waiting for it wait until the time-out.
#pragma once

#include "common/support/options.hh"
#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

struct GlooOptions {
  double timeout_s = 60;

  void visit(auto& field) {
    field("timeout", timeout_s,
          Rule{.effect = "maximum wait for a peer: to connect, and for each message of a collective",
               .quantity = Quantity::duration,
               .at_least = 0.001});
  }
};

// Connects to all other workers. Throws CollectiveError.
std::unique_ptr<Collective> make_gloo(const GlooOptions& options, const GroupOptions& group_options);

// Returns the version of the headers used in the build, such as "0.5.0".
std::string gloo_version();

// Returns the library file that this process's calls to Gloo reach: PyTorch's own libraries may contain
// another Gloo.
std::string gloo_library_path();

}  // namespace thinpipe::trainer
