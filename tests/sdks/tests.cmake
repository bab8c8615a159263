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

# Libraries whose parameters `retrysim import` reads, or keys express.
foreach(peer urllib3 tenacity)
  add_test(NAME sdks/${peer} COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/${peer}_test.py
                                     --program $<TARGET_FILE:retrysim-cli>)
  set_tests_properties(sdks/${peer} PROPERTIES
    LABELS "conformance;no-sanitizer" SKIP_RETURN_CODE 77)
endforeach()

foreach(library cockatiel p-retry axios-retry got @grpc/grpc-js)
  string(REGEX REPLACE ".*/" "" name ${library})
  add_test(NAME sdks/${name}
    COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/js_peers_test.py --library ${library}
            --program $<TARGET_FILE:retrysim-cli>
            --modules ${PROJECT_SOURCE_DIR}/build/sdks/js-peers/node_modules)
  set_tests_properties(sdks/${name} PROPERTIES
    LABELS "conformance;no-sanitizer" SKIP_RETURN_CODE 77)
endforeach()

# Circuit breakers of libraries for JavaScript.
add_executable(breaker_decisions ${CMAKE_CURRENT_LIST_DIR}/breaker_decisions.cpp)
target_link_libraries(breaker_decisions PRIVATE retrysim retrysim_flags)
foreach(library opossum cockatiel)
  add_test(NAME sdks/${library}-breaker
    COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/breakers_test.py --library ${library}
            --program $<TARGET_FILE:breaker_decisions>
            --modules ${PROJECT_SOURCE_DIR}/build/sdks/js-peers/node_modules)
  set_tests_properties(sdks/${library}-breaker PROPERTIES
    LABELS "conformance;no-sanitizer" SKIP_RETURN_CODE 77)
endforeach()
