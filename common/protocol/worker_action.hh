// What an experiment may have done to one of its workers.
#pragma once

namespace thinpipe {

enum class WorkerAction { kill, pause, resume };

}  // namespace thinpipe
