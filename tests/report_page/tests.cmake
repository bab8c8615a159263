# Pages of `retrysim report` in a headless browser: Debian's Chromium. Without one they are skipped.

retrysim_add_sized_test(report_page/pages
  COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/report_page_test.py
          --program $<TARGET_FILE:retrysim-cli>
  FULL --all
  PROPERTIES LABELS "cli;no-sanitizer" TIMEOUT 600 SKIP_RETURN_CODE 77 COST 50)
# Every night those of all shipped scenarios.
add_test(NAME report_page/shipped
         COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/shipped_pages_test.py
                 --program $<TARGET_FILE:retrysim-cli> --scenarios ${PROJECT_SOURCE_DIR}/scenarios)
set_tests_properties(report_page/shipped PROPERTIES
  LABELS "nightly;no-sanitizer" TIMEOUT 7200 SKIP_RETURN_CODE 77)
# That pages and Matplotlib draw the same.
retrysim_add_sized_test(report_page/pictures
  COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/pictures_test.py
          --program $<TARGET_FILE:retrysim-cli>
  FULL --all
  PROPERTIES LABELS "cli;no-sanitizer" TIMEOUT 600 SKIP_RETURN_CODE 77 COST 40)
