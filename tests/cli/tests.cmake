# Stories of the command line, one test a file, and the determinism of result files.

file(GLOB stories RELATIVE ${CMAKE_CURRENT_LIST_DIR} CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_LIST_DIR}/*.txt)
# The test of determinism makes the runs that this one shows, and compares their fingerprints.
list(REMOVE_ITEM stories fingerprints.txt)
set(story_timeout 600)
if(RETRYSIM_TESTS_TOGETHER)  # the sanitizers, which take ten times as long
  set(story_timeout 3600)
endif()
foreach(story IN LISTS stories)
  string(REGEX REPLACE "\\.txt$" "" name ${story})
  add_test(NAME cli/${name}
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/run_cli_tests.py
                   --program $<TARGET_FILE:retrysim-cli> --root ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_LIST_DIR}/${story})
  set_tests_properties(cli/${name} PROPERTIES LABELS cli TIMEOUT ${story_timeout})
endforeach()

set_tests_properties(cli/tip PROPERTIES TIMEOUT 1200 COST 40)
set_tests_properties(cli/compare PROPERTIES COST 40)

# The sanitizers see the same code elsewhere: with a few replications in soak/smoke and in the unit
# tests of experiments, and on many scenarios in determinism/result_files.
set_tests_properties(cli/certainty cli/choose cli/compare cli/memory cli/risk cli/size cli/tip
                     cli/tip_vary cli/uncertain cli/widths
  PROPERTIES LABELS "cli;no-sanitizer")

add_test(NAME cli/story_runner COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/run_cli_tests_test.py)
set_tests_properties(cli/story_runner PROPERTIES LABELS "cli;no-sanitizer")

add_test(NAME cli/start COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/start_test.py
                                --program $<TARGET_FILE:retrysim-cli>)
set_tests_properties(cli/start PROPERTIES LABELS "cli;no-sanitizer" SKIP_RETURN_CODE 77)
add_test(NAME cli/terminal COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/terminal_test.py
                                   --program $<TARGET_FILE:retrysim-cli>)
set_tests_properties(cli/terminal PROPERTIES LABELS cli)

retrysim_add_sized_test(cli/plain_numbers
  COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/plain_numbers_test.py
          --program $<TARGET_FILE:retrysim-cli> --root ${PROJECT_SOURCE_DIR}
  BRIEF --every 4
  FULL --every 1
  PROPERTIES LABELS "cli;no-sanitizer" TIMEOUT 900 COST 30)

# Pages with commands to copy: they work, and print what the pages show; the blocks that take long
# every night, and by scripts/check_pages. The recipes, every night, need tools that not every
# machine has.
function(retrysim_page_test name page)
  add_test(NAME cli/${name}
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/run_cli_tests.py
                   --program $<TARGET_FILE:retrysim-cli> --root ${PROJECT_SOURCE_DIR}
                   ${PROJECT_SOURCE_DIR}/${page} --languages ${ARGN})
  set_tests_properties(cli/${name} PROPERTIES
    LABELS "cli;no-sanitizer" TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()
file(GLOB pages RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md)
foreach(folder include scenarios scripts sim tests)
  file(GLOB_RECURSE found RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/${folder}/*.md)
  list(APPEND pages ${found})
endforeach()
list(REMOVE_ITEM pages sim/report/recipes.md)
foreach(page IN LISTS pages)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${page} commands REGEX "^```(sh|bash)$" LIMIT_COUNT 1)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${page})
  if(commands)
    retrysim_page_test(page/${page} ${page})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${page} slow REGEX "^<!-- .*slow" LIMIT_COUNT 1)
    if(slow)
      retrysim_page_test(slow_page/${page} ${page} python --slow)
      set_tests_properties(cli/slow_page/${page} PROPERTIES LABELS "nightly;no-sanitizer")
    endif()
  endif()
endforeach()
foreach(language python r gnuplot)
  retrysim_page_test(recipes_${language} sim/report/recipes.md ${language})
endforeach()
set_tests_properties(cli/recipes_python cli/recipes_r cli/recipes_gnuplot PROPERTIES
  LABELS "nightly;no-sanitizer")
set_tests_properties(cli/page/README.md cli/page/sim/experiment/README.md PROPERTIES COST 30)

# What the heads of scenarios say is so, and their expectations hold beyond the doubt of their
# replications; every night also for the studies and for those that take longest.
file(GLOB scenarios RELATIVE ${PROJECT_SOURCE_DIR}/scenarios CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/scenarios/*.toml)
foreach(scenario IN LISTS scenarios)
  string(REGEX REPLACE "\\.toml$" "" name ${scenario})
  add_test(NAME cli/head/${name}
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/scenario_heads.py
                   --program $<TARGET_FILE:retrysim-cli> --root ${PROJECT_SOURCE_DIR} ${name})
  set_tests_properties(cli/head/${name} PROPERTIES LABELS "cli;no-sanitizer" TIMEOUT 600)
  if(name MATCHES "^(study-.*|cache-stampede|capacity-dip|fifo-zombie|other-strategies)$")
    set_tests_properties(cli/head/${name} PROPERTIES LABELS "nightly;no-sanitizer")
  endif()
endforeach()

add_test(NAME cli/documented_examples
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/documented_examples.py
                 --program $<TARGET_FILE:retrysim-cli> --root ${PROJECT_SOURCE_DIR})
set_tests_properties(cli/documented_examples PROPERTIES LABELS cli)

# RETRYSIM_OTHER_PROGRAM in the environment names a program from another compiler or build type,
# whose files must be the same to the last byte.
retrysim_add_sized_test(determinism/result_files
  COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/compare_result_files.py
          --program $<TARGET_FILE:retrysim-cli> ${PROJECT_SOURCE_DIR}/scenarios
  BRIEF --every 0
  FULL --every 1
  PROPERTIES LABELS determinism TIMEOUT 600)
add_test(NAME determinism/comparison_notices
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/compare_result_files_test.py)
set_tests_properties(determinism/result_files determinism/comparison_notices PROPERTIES
  LABELS determinism TIMEOUT 600)
set_tests_properties(determinism/result_files PROPERTIES COST 50)

# Over threads, ranks, shards, locales and all builds that there are: one scenario, every night all.
retrysim_add_sized_test(determinism/matrix
  COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/determinism_matrix.py
          --program $<TARGET_FILE:retrysim-cli> --root ${PROJECT_SOURCE_DIR}
  BRIEF --scenarios steady-load
  PROPERTIES LABELS determinism TIMEOUT 600 COST 10)

# Every night one published study from end to end; scripts/reproduce runs them all.
add_test(NAME studies/open_closed_latency
         COMMAND ${python} -B ${PROJECT_SOURCE_DIR}/scripts/studies/reproduce_studies.py --brief
                 --program $<TARGET_FILE:retrysim-cli> --only open-closed-latency)
set_tests_properties(studies/open_closed_latency PROPERTIES
  LABELS "nightly;no-sanitizer" TIMEOUT 900)

# The picture of README.md shows what the program does today.
add_test(NAME cli/readme_picture
         COMMAND ${python} -B ${PROJECT_SOURCE_DIR}/scripts/readme_picture.py
                 --program $<TARGET_FILE:retrysim-cli> --check)
set_tests_properties(cli/readme_picture PROPERTIES LABELS "cli;no-sanitizer" TIMEOUT 600)

# The reference tables of the documentation are the program's own.
add_test(NAME cli/reference_tables
         COMMAND ${python} ${PROJECT_SOURCE_DIR}/scripts/reference_tables.py
                 --program $<TARGET_FILE:retrysim-cli> --check)
set_tests_properties(cli/reference_tables PROPERTIES LABELS cli)

# The JSON Schema takes all shipped scenarios and refuses damaged ones.
add_test(NAME cli/schema
         COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/schema_test.py
                 $<TARGET_FILE:retrysim-cli> ${PROJECT_SOURCE_DIR})
set_tests_properties(cli/schema PROPERTIES LABELS cli)

# Each promise of the page names the tests that hold it.
add_test(NAME tidy/promises
         COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/promises_test.py
                 --build ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}/sim/cli/stability.md)
set_tests_properties(tidy/promises PROPERTIES LABELS tidy)

# One log in the formats of all servers that are known.
add_test(NAME cli/log_formats
         COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/log_formats.py
                 --program $<TARGET_FILE:retrysim-cli>)
set_tests_properties(cli/log_formats PROPERTIES LABELS cli TIMEOUT 600 COST 15)
