# The engine for browsers and its page, which scripts/page builds: skipped where it has not. Firefox
# has its turn every night.

add_executable(ask_engine browser/ask_engine.cpp)
target_link_libraries(ask_engine PRIVATE retrysim test_flags)
set(browser_engine ${PROJECT_SOURCE_DIR}/build/page/retrysim.wasm)
add_test(NAME browser/engine
         COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/engine_test.py
                 --native $<TARGET_FILE:ask_engine> --engine ${browser_engine}
                 --source ${PROJECT_SOURCE_DIR})
set_tests_properties(browser/engine PROPERTIES
  LABELS "browser;no-sanitizer" TIMEOUT 900 SKIP_RETURN_CODE 77 COST 20)
foreach(browser page firefox)
  add_test(NAME browser/${browser}
           COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/page_test.py
                   --native $<TARGET_FILE:ask_engine> --program $<TARGET_FILE:retrysim-cli>
                   --page ${PROJECT_SOURCE_DIR}/build/page/retrysim.html
                   --source ${PROJECT_SOURCE_DIR} $<$<STREQUAL:${browser},firefox>:--firefox>
           COMMAND_EXPAND_LISTS)
  set_tests_properties(browser/${browser} PROPERTIES
    LABELS "browser;no-sanitizer" TIMEOUT 900 SKIP_RETURN_CODE 77 COST 30)
endforeach()
set_tests_properties(browser/firefox PROPERTIES LABELS "nightly;no-sanitizer")
