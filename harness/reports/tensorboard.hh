// A report's curves as TensorBoard reads them.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/reports/report.hh"

namespace thinpipe {

// Writes <folder>/<name of the run>/events.out.tfevents.thinpipe for each run and returns these files. The
// report's digests have curves.
// Each evaluation gives the scalars test_accuracy, test_loss and train_loss, where they are finite, by
// iteration; its wall time is the run's start plus its train time, so that TensorBoard's relative axis is
// train time. A run's folder is called by its label with "_" for all but letters, digits and "+-.=@", below
// one for its experiment where there are several; of several runs whose folders would have the same name, all
// but the first have their run_id added. What an earlier export left there under the same name is replaced.
std::vector<std::filesystem::path> write_tensorboard(const Report& report,
                                                     const std::filesystem::path& folder);

}  // namespace thinpipe
