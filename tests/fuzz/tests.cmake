# What fuzzers start from and what they have found is played in every run of the tests; under the
# preset fuzz, which scripts/fuzz builds, libFuzzer makes more of it.

add_library(fuzz_targets OBJECT ${CMAKE_CURRENT_LIST_DIR}/targets.cpp)
target_link_libraries(fuzz_targets PRIVATE retrysim test_flags)
target_include_directories(fuzz_targets PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})

add_executable(fuzz_replay ${CMAKE_CURRENT_LIST_DIR}/replay.cpp)
target_link_libraries(fuzz_replay PRIVATE fuzz_targets retrysim_cli retrysim test_flags)
target_include_directories(fuzz_replay PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
add_dependencies(fast_test_programs fuzz_replay)
add_test(NAME fuzz/replay COMMAND fuzz_replay ${PROJECT_SOURCE_DIR})
set_tests_properties(fuzz/replay PROPERTIES LABELS cli TIMEOUT 600 COST 10)

# Damaged logs and configurations through the program itself, a few in every run of the tests.
retrysim_add_sized_test(fuzz/damaged
                        COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/damaged.py
                                --program $<TARGET_FILE:retrysim-cli>
                        BRIEF --inputs 60
                        FULL --inputs 3000 --seed 2
                        PROPERTIES LABELS cli TIMEOUT 600 COST 10)

option(RETRYSIM_FUZZERS "Build the program of libFuzzer (Clang)" OFF)
if(RETRYSIM_FUZZERS)
  add_executable(fuzzer ${CMAKE_CURRENT_LIST_DIR}/fuzzer.cpp)
  target_link_libraries(fuzzer PRIVATE fuzz_targets retrysim_cli retrysim test_flags)
  target_include_directories(fuzzer PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_options(fuzzer PRIVATE -fsanitize=fuzzer)
endif()
