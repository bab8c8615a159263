# The presets against the real SDKs, with few calls; scripts/compare_sdks makes 10,000 of each.
# Without the SDK a test is skipped, and says what is missing; scripts/test installs botocore.

set(compare_sdks ${python} -B ${CMAKE_CURRENT_LIST_DIR}/compare.py
                 --program $<TARGET_FILE:retrysim-cli>
                 --build ${PROJECT_SOURCE_DIR}/build/sdks)
foreach(sdk botocore js-v2 js-v3 go-v1 go-v2 ruby)
  add_test(NAME sdks/${sdk} COMMAND ${compare_sdks} --sdk ${sdk} --calls 500)
  set_tests_properties(sdks/${sdk} PROPERTIES
    LABELS "conformance;no-sanitizer" SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()

add_test(NAME sdks/comparison COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/compare_test.py
                                      --program $<TARGET_FILE:retrysim-cli>)
set_tests_properties(sdks/comparison PROPERTIES LABELS "unit;no-sanitizer")

add_test(NAME sdks/urllib3 COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/urllib3_test.py
                                   --program $<TARGET_FILE:retrysim-cli>)
set_tests_properties(sdks/urllib3 PROPERTIES
  LABELS "conformance;no-sanitizer" SKIP_RETURN_CODE 77)
