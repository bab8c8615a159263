# The style and the script of `retrysim report`'s pages as a source file of the program.

set(page_folder ${PROJECT_SOURCE_DIR}/sim/report/page)
# In the order in which they use each other.
set(page_scripts format chart time_charts value_charts tables scenario answer sweep curve choice
                 advice map prediction picture page)
set(page_files ${page_folder}/page.css ${page_folder}/page_parts.cpp.in)

# Colours and words are those of the pictures: variables of the style, a constant of the scripts.
file(READ ${PROJECT_SOURCE_DIR}/scripts/plotting/looks.json looks)
list(APPEND page_files ${PROJECT_SOURCE_DIR}/scripts/plotting/looks.json)
string(JSON colours GET "${looks}" colours)
string(JSON last LENGTH "${colours}")
math(EXPR last "${last} - 1")
foreach(i RANGE ${last})
  string(JSON name MEMBER "${colours}" ${i})
  foreach(ground light dark)
    string(JSON colour GET "${colours}" ${name} ${ground})
    string(APPEND ${ground}_colours " --${name}: ${colour};")
  endforeach()
endforeach()
file(READ ${page_folder}/page.css page_style)
string(PREPEND page_style ":root {${light_colours} }
@media screen and (prefers-color-scheme: dark) { :root {${dark_colours} } }
")
set(page_script "\"use strict\";\n(() => {\nconst LOOKS = ${looks};\n")
set(page_script_literals " + R\"~script~(${page_script})~script~\"")
foreach(name IN LISTS page_scripts)
  file(READ ${page_folder}/${name}.js part)
  string(APPEND page_script "${part}\n")
  string(APPEND page_script_literals "\n    + R\"~script~(${part}\n)~script~\"")
  list(APPEND page_files ${page_folder}/${name}.js)
endforeach()
string(APPEND page_script "})();\n")
string(APPEND page_script_literals "\n    + R\"~script~(})();\n)~script~\"")
string(SHA256 page_style_sha256 "${page_style}")
string(SHA256 page_script_sha256 "${page_script}")
configure_file(${page_folder}/page_parts.cpp.in ${PROJECT_BINARY_DIR}/page_parts.cpp @ONLY)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_files})
