# What earlier releases wrote is still read, and `check --since` names all that has changed since.

file(GLOB releases RELATIVE ${CMAKE_CURRENT_LIST_DIR} CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_LIST_DIR}/0.*)
foreach(release IN LISTS releases)
  add_test(NAME upgrade/${release}
           COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/upgrade_test.py
                   --program $<TARGET_FILE:retrysim-cli>
                   --plot ${PROJECT_SOURCE_DIR}/scripts/plot.py
                   ${CMAKE_CURRENT_LIST_DIR}/${release})
  set_tests_properties(upgrade/${release} PROPERTIES LABELS cli TIMEOUT 600)
endforeach()
