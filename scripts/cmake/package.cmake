# `cpack -G DEB` in a build tree: what is installed, as a Debian package, and the Python module as
# another one. The version is that of
# project(), the libraries that the program needs are found by dpkg-shlibdeps.

set(RETRYSIM_MAINTAINER "retrysim authors <retrysim@users.noreply.github.com>" CACHE STRING
    "Maintainer of the Debian package")

# What Debian asks of every package: the licence and the changes of the program and of the package;
# and the licences of what is compiled into it.
function(retrysim_write_copyright file)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/licences ${ARGN}
                  OUTPUT_VARIABLE others RESULT_VARIABLE status ERROR_QUIET)
  file(READ ${PROJECT_SOURCE_DIR}/LICENSE text)
  if(status EQUAL 0)
    string(APPEND text "\nSome code of these Debian packages is compiled into it:\n${others}")
  endif()
  file(WRITE ${file} "${text}")
endfunction()
set(copyright ${PROJECT_BINARY_DIR}/copyright)
retrysim_write_copyright(${copyright})
install(FILES ${copyright} DESTINATION ${CMAKE_INSTALL_DOCDIR})
string(TIMESTAMP packaged_at "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${PROJECT_BINARY_DIR}/changelog.Debian
"retrysim (${PROJECT_VERSION}-1) unstable; urgency=medium

  * See changelog.gz for what is new in ${PROJECT_VERSION}.

 -- ${RETRYSIM_MAINTAINER}  ${packaged_at}
")
file(COPY_FILE ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_BINARY_DIR}/changelog)
foreach(file changelog changelog.Debian)
  execute_process(
    COMMAND ${RETRYSIM_GZIP} -9 -n -f ${PROJECT_BINARY_DIR}/${file} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${PROJECT_BINARY_DIR}/${file}.gz DESTINATION ${CMAKE_INSTALL_DOCDIR})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME retrysim)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${RETRYSIM_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulator of client retries against an overloaded service")
set(CPACK_PACKAGE_DESCRIPTION
"When a service gets into trouble, do the retries of its clients help it
through or keep it down? retrysim simulates thousands of clients, each with
the retry rules of an AWS SDK, of gRPC or of others, that call a service with
servers, a queue, throttling and faults. It reports load, success rate,
latency and retry storms with confidence intervals, compares policies, and
finds the outage from which a system does not recover.
.
This package also contains the C++ library, and suggests what is needed to
compile a program that uses it. For runs over the ranks of an MPI job it
needs openmpi-bin.")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps adds the libraries. retrysim-plot is written in Python and draws with Matplotlib.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3:any")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
    "bash-completion, python3-matplotlib, python3-numpy")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "cmake, g++, libfmt-dev, librandom123-dev, libtomlplusplus-dev, \
libyaml-cpp-dev, openmpi-bin, pkg-config, zlib1g-dev")

# A second package, python3-retrysim: the module, which works without the first one.
if(TARGET retrysim_python)
  set(module_dir lib/python3/dist-packages/retrysim)
  set(module_doc_dir ${CMAKE_INSTALL_DATAROOTDIR}/doc/python3-retrysim)
  set(of_module COMPONENT python EXCLUDE_FROM_ALL)
  install(TARGETS retrysim_python LIBRARY DESTINATION ${module_dir} ${of_module})
  install(FILES ${python_modules} DESTINATION ${module_dir} ${of_module})
  install(FILES ${plotting_modules} DESTINATION ${module_dir}/plotting ${of_module})
  retrysim_write_copyright(${copyright}.module pybind11-dev)
  install(FILES ${copyright}.module RENAME copyright DESTINATION ${module_doc_dir} ${of_module})
  install(FILES ${PROJECT_BINARY_DIR}/changelog.gz ${PROJECT_BINARY_DIR}/changelog.Debian.gz
          DESTINATION ${module_doc_dir} ${of_module})

  add_dependencies(installable retrysim_python)

  set(CPACK_COMPONENTS_ALL Unspecified python)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME ${CPACK_PACKAGE_NAME})
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-retrysim)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  # The module is compiled for one version of Python.
  set(python_release ${PYTHON_VERSION_MAJOR}.${PYTHON_VERSION_MINOR})
  math(EXPR python_next "${PYTHON_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= ${python_release}), \
python3 (<< ${PYTHON_VERSION_MAJOR}.${python_next}), python3-numpy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-matplotlib, python3-pandas")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "jupyter-notebook, retrysim")
  set(CPACK_DEBIAN_UNSPECIFIED_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
  set(CPACK_DEBIAN_PYTHON_DESCRIPTION
"This is retrysim in Python, without the program: every question as a
function (run, compare, choose, sweep, tip, size, risk, advise, predict, fit
and others). Results are tables for numpy, pandas and Arrow, with the same
bytes as the files of the program, and retry strategies may be Python classes.")
endif()
include(CPack)
