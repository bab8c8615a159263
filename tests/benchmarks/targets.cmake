# Benchmarks. <name>_benchmark.cpp is a Google Benchmark program bench_<name>; the reference loop
# and the simulator's side of the comparison are plain programs that print key=value pairs.

# Whatever the build type, figures come from optimised code.
function(retrysim_optimise target)
  target_compile_options(${target} PRIVATE -O3)
endfunction()

file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_benchmark.cpp)
foreach(source IN LISTS sources)
  get_filename_component(file ${source} NAME_WE)
  string(REGEX REPLACE "_benchmark$" "" name ${file})
  if(name STREQUAL "run")
    add_executable(run_benchmark ${source})
    target_link_libraries(run_benchmark PRIVATE retrysim retrysim_flags)
    retrysim_optimise(run_benchmark)
  else()
    add_executable(bench_${name} ${source})
    target_link_libraries(bench_${name} PRIVATE
      retrysim retrysim_flags benchmark::benchmark benchmark::benchmark_main)
    retrysim_optimise(bench_${name})
  endif()
endforeach()

# The yardstick gets everything that this machine's processor has; the simulator is measured as it
# is shipped.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-march=native RETRYSIM_HAS_MARCH_NATIVE)
add_executable(reference_loop ${CMAKE_CURRENT_LIST_DIR}/reference_loop.cpp)
target_link_libraries(reference_loop PRIVATE retrysim_flags)
target_compile_options(reference_loop PRIVATE
  $<$<BOOL:${RETRYSIM_HAS_MARCH_NATIVE}>:-march=native>)
retrysim_optimise(reference_loop)

# The same for any processor: valgrind does not know the instructions of the newest ones.
add_executable(reference_loop_portable ${CMAKE_CURRENT_LIST_DIR}/reference_loop.cpp)
target_link_libraries(reference_loop_portable PRIVATE retrysim_flags)
retrysim_optimise(reference_loop_portable)

add_test(NAME benchmarks/reference_loop
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/reference_loop_test.py
                 $<TARGET_FILE:reference_loop>)
set_tests_properties(benchmarks/reference_loop PROPERTIES LABELS benchmarks)

# The same system in the style of a general engine, and in that of ns-3 where it is installed
# (Debian's libns3-dev).
add_executable(callback_model ${CMAKE_CURRENT_LIST_DIR}/callback_model.cpp)
target_link_libraries(callback_model PRIVATE retrysim_flags)
retrysim_optimise(callback_model)
add_test(NAME benchmarks/callback_model
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/callback_model_test.py
                 $<TARGET_FILE:callback_model>)
set_tests_properties(benchmarks/callback_model PROPERTIES LABELS benchmarks)
find_library(RETRYSIM_NS3 ns3-core)
find_path(RETRYSIM_NS3_HEADERS ns3/simulator.h)
if(RETRYSIM_NS3 AND RETRYSIM_NS3_HEADERS)
  add_executable(callback_model_ns3 ${CMAKE_CURRENT_LIST_DIR}/callback_model.cpp)
  target_compile_definitions(callback_model_ns3 PRIVATE RETRYSIM_BENCHMARK_NS3)
  target_include_directories(callback_model_ns3 SYSTEM PRIVATE ${RETRYSIM_NS3_HEADERS})
  target_link_libraries(callback_model_ns3 PRIVATE retrysim_flags ${RETRYSIM_NS3})
  retrysim_optimise(callback_model_ns3)
endif()

# The ceilings are for what users run, compiled by the compiler that Debian uses.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_test(NAME benchmarks/instructions
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/instructions_test.py
                   $<TARGET_FILE:run_benchmark> $<TARGET_FILE:reference_loop_portable>)
  set_tests_properties(benchmarks/instructions PROPERTIES
    LABELS benchmarks SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
