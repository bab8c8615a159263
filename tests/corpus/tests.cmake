# What two thousand random scenarios do is recorded here; scripts/corpus says what has changed.

add_executable(run_corpus ${CMAKE_CURRENT_LIST_DIR}/run_corpus.cpp)
target_link_libraries(run_corpus PRIVATE retrysim test_flags)
target_include_directories(run_corpus PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
add_dependencies(fast_test_programs run_corpus)

# Debug builds, and those of another compiler, do the same: for them a few will do.
set(corpus_part 4)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(corpus_part 80)
endif()
retrysim_add_sized_test(corpus/unchanged
  COMMAND ${python} -B ${PROJECT_SOURCE_DIR}/scripts/soaking/corpus.py
          --runner $<TARGET_FILE:run_corpus> --program $<TARGET_FILE:retrysim-cli>
  BRIEF --every ${corpus_part}
  FULL --every 1
  PROPERTIES LABELS cli TIMEOUT 600 COST 15)
