# The public library beside the program: the same question must give the same tables.

add_executable(write_tables ${CMAKE_CURRENT_LIST_DIR}/write_tables.cpp)
target_link_libraries(write_tables PRIVATE retrysim test_flags)
add_dependencies(fast_test_programs write_tables)
retrysim_add_sized_test(library/tables
  COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/tables_test.py
          --program $<TARGET_FILE:retrysim-cli> --writer $<TARGET_FILE:write_tables>
  BRIEF --every 3
  FULL --every 1
  PROPERTIES LABELS "cli;no-sanitizer" TIMEOUT 900)
