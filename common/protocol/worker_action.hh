// SPDX-License-Identifier: Apache-2.0
// An action of an experiment on one of its workers.
#pragma once

namespace thinpipe {

enum class WorkerAction { kill, pause, resume };

}  // namespace thinpipe
