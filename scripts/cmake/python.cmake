# The Python package, in the folder `python` of the build tree: PYTHONPATH=build/ci/python.

# Debian's, whose packages it goes with, unless another one is asked for: a python3 that comes first
# on the path may have no numpy.
if(NOT DEFINED PYTHON_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(PYTHON_EXECUTABLE /usr/bin/python3)
endif()
if(RETRYSIM_PYTHON STREQUAL "AUTO" AND NOT PROJECT_IS_TOP_LEVEL)
  return()
elseif(RETRYSIM_PYTHON STREQUAL "AUTO")
  find_package(pybind11 2.10 QUIET)
elseif(RETRYSIM_PYTHON)
  find_package(pybind11 2.10 REQUIRED)
endif()
if(NOT RETRYSIM_PYTHON OR NOT pybind11_FOUND)
  return()
endif()

set(python_dir ${PROJECT_BINARY_DIR}/python/retrysim)
file(GLOB engine_sources CONFIGURE_DEPENDS sim/python/*.cpp)
# The linker sees everything already: its own optimization would take minutes and gain nothing.
pybind11_add_module(retrysim_python MODULE NO_EXTRAS ${engine_sources})
set_target_properties(retrysim_python PROPERTIES
  OUTPUT_NAME _engine LIBRARY_OUTPUT_DIRECTORY ${python_dir}
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_link_libraries(retrysim_python PRIVATE retrysim_cli retrysim retrysim_flags)
target_compile_options(retrysim_python PRIVATE $<$<CONFIG:Release>:-O1>)
pybind11_strip(retrysim_python)

# The modules in Python, and those that draw pictures.
file(GLOB python_modules CONFIGURE_DEPENDS sim/python/retrysim/*.py sim/python/retrysim/*.pyi
     sim/python/retrysim/py.typed)
file(GLOB plotting_modules CONFIGURE_DEPENDS scripts/plotting/*.py scripts/plotting/looks.json)
set(python_stamp ${PROJECT_BINARY_DIR}/python.stamp)
add_custom_command(OUTPUT ${python_stamp}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${python_dir}/plotting
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${python_modules} ${python_dir}
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${plotting_modules} ${python_dir}/plotting
  COMMAND ${CMAKE_COMMAND} -E touch ${python_stamp}
  DEPENDS ${python_modules} ${plotting_modules}
  VERBATIM)
add_custom_target(retrysim_python_modules ALL DEPENDS ${python_stamp})
add_dependencies(retrysim_python retrysim_python_modules)
