# Writes OUTPUT, a header with the text of each of FILES, in SOURCE, as a constant: page.css is page_css.
set(constants "")
foreach(file IN LISTS FILES)
  file(READ ${SOURCE}/${file} text)
  string(MAKE_C_IDENTIFIER ${file} name)
  string(APPEND constants "inline constexpr std::string_view ${name} = R\"embedded(${text})embedded\";\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Made by harness/reports/embed.cmake.\n#pragma once\n\n#include <string_view>\n\nnamespace thinpipe {\n\n${constants}\n}  // namespace thinpipe\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
