# The sources that decide what a unit's result is, and what its bytes mean. Stored results are those
# of the same sources only: see `UnitKey` in include/retrysim/run.hpp. Where this file is included,
# the build writes sources_of_results.cpp with a hash of them whenever one has changed, by
# cmake -DROOT=... -DOUTPUT=... "-DFILES=a;b" -P this.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  get_filename_component(sources_root ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
  set(sources_of_results include/retrysim/*.hpp sim/kernel/*.?pp sim/retry/*.?pp sim/flow/*.?pp
    sim/scenario/*.?pp sim/measure/*.?pp sim/estimate/*.?pp sim/model/*.?pp
    sim/prediction/*.?pp sim/explain/*.?pp sim/execution/archive.hpp sim/execution/members.hpp
    sim/execution/run_bytes.?pp sim/execution/units.?pp)
  list(TRANSFORM sources_of_results PREPEND ${sources_root}/)
  file(GLOB_RECURSE sources_of_results RELATIVE ${sources_root} CONFIGURE_DEPENDS
    ${sources_of_results})
  list(SORT sources_of_results)
  list(TRANSFORM sources_of_results PREPEND ${sources_root}/ OUTPUT_VARIABLE sources_to_watch)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/sources_of_results.cpp
    COMMAND ${CMAKE_COMMAND} -DROOT=${sources_root}
      -DOUTPUT=${PROJECT_BINARY_DIR}/sources_of_results.cpp "-DFILES=${sources_of_results}"
      -P ${CMAKE_CURRENT_LIST_FILE}
    WORKING_DIRECTORY ${sources_root}
    DEPENDS ${sources_to_watch} ${CMAKE_CURRENT_LIST_FILE}
    VERBATIM)
  return()
endif()

set(all "")
foreach(file IN LISTS FILES)
  file(SHA256 ${ROOT}/${file} hash)
  string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 32 hash)
file(WRITE ${OUTPUT} "// Made by scripts/cmake/sources_of_results.cmake.
namespace retrysim::execution {
extern const char* const kSourcesOfResults;
const char* const kSourcesOfResults = \"${hash}\";
}  // namespace retrysim::execution
")
