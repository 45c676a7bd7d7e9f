// SPDX-License-Identifier: Apache-2.0
// Tables as text.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

// Returns the rows as text. Columns are two spaces apart; the first is aligned left, the others right.
std::string format_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace thinpipe
