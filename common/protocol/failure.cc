#include "common/protocol/failure.hh"

namespace thinpipe {

Json to_json(const Failure& failure) {
  Json out = {{"kind", failure.kind},         {"rank", nullptr},
              {"message", failure.message},   {"exit_status", nullptr},
              {"log_tail", failure.log_tail}, {"workers", failure.worker_states}};
  if (failure.rank) out["rank"] = *failure.rank;
  if (!failure.exit_status.empty()) out["exit_status"] = failure.exit_status;
  return out;
}

}  // namespace thinpipe
