// Tables as text.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

// Columns two spaces apart; the first is aligned left, the others right.
std::string format_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows);

// "82.1 MB": three significant digits, decimal units.
std::string format_bytes(double bytes);

}  // namespace thinpipe
