# The engine against a second, naive implementation of its rules (README.md). The model is compiled
# once more, so that it tells its steps; the library's own is then not linked.
get_target_property(model_sources retrysim_model SOURCES)
add_library(traced_model OBJECT ${model_sources})
target_compile_definitions(traced_model PRIVATE RETRYSIM_TRACE RETRYSIM_FLATTEN=)
target_compile_options(traced_model PRIVATE
  $<$<CONFIG:Release>:-O1> ${RETRYSIM_COLD_FLAGS} ${retrysim_no_false_alarms_with_headers})
target_link_libraries(traced_model PRIVATE retrysim_flags)
retrysim_make_shareable(traced_model)  # as the headers below are
target_precompile_headers(traced_model REUSE_FROM retrysim_flow)
retrysim_compile_as_one(traced_model)

file(GLOB reference_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
add_executable(differential ${reference_sources})
target_include_directories(differential PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(differential PRIVATE RETRYSIM_TRACE)
target_compile_options(differential PRIVATE $<$<CONFIG:Release>:-O1> ${RETRYSIM_TEST_FLAGS})
target_link_libraries(differential PRIVATE traced_model retrysim retrysim_flags)
retrysim_join_tests(differential)

add_test(NAME reference/differential COMMAND differential --scenarios 2000)
set_tests_properties(reference/differential PROPERTIES LABELS reference COST 15)
