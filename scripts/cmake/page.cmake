# The style and the script of `retrysim report`'s pages as a source file of the program, without and
# with what a page needs that has the engine.

get_filename_component(page_root ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(page_folder ${page_root}/sim/report/page)
# In the order in which they use each other.
set(page_scripts format chart panels line_names time_charts tables scenario answer sweep curve tip
                 choice advice map prediction fit kinds picture page)
# Before these in a page that has the engine.
set(page_live_scripts engine share offers live_scenario knobs controls address stories live)
set(page_files ${page_folder}/page.css ${page_folder}/live.css ${page_folder}/page_parts.cpp.in)

# Sets PREFIX_script_literals and PREFIX_script_sha256 for the scripts of these names.
function(page_script_of prefix)
  set(script "\"use strict\";\n(() => {\nconst LOOKS = ${looks};\n")
  set(literals " + R\"~script~(${script})~script~\"")
  foreach(name IN LISTS ARGN)
    file(READ ${page_folder}/${name}.js part)
    string(APPEND script "${part}\n")
    string(APPEND literals "\n    + R\"~script~(${part}\n)~script~\"")
  endforeach()
  string(APPEND script "})();\n")
  string(APPEND literals "\n    + R\"~script~(})();\n)~script~\"")
  string(SHA256 sha256 "${script}")
  set(${prefix}_script_literals "${literals}" PARENT_SCOPE)
  set(${prefix}_script_sha256 ${sha256} PARENT_SCOPE)
endfunction()

# Colours and words are those of the pictures: variables of the style, a constant of the scripts.
file(READ ${page_root}/scripts/plotting/looks.json looks)
list(APPEND page_files ${page_root}/scripts/plotting/looks.json)
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
file(READ ${page_folder}/live.css live_style)
string(PREPEND page_style ":root {${light_colours} }
@media screen and (prefers-color-scheme: dark) { :root {${dark_colours} } }
")
string(SHA256 page_style_sha256 "${page_style}")
string(SHA256 live_style_sha256 "${page_style}${live_style}")
page_script_of(page ${page_scripts})
page_script_of(live ${page_live_scripts} ${page_scripts})
foreach(name IN LISTS page_live_scripts page_scripts)
  list(APPEND page_files ${page_folder}/${name}.js)
endforeach()
configure_file(${page_folder}/page_parts.cpp.in ${PROJECT_BINARY_DIR}/page_parts.cpp @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_files})
