# Tests of the scripts, a unittest program each: <name>_test.py becomes scripts/<name>. The pictures
# of plot take long, and some are left to the night. A sanitizer sees nothing in them: the preset
# asan leaves out what is labelled no-sanitizer.

file(GLOB script_tests RELATIVE ${CMAKE_CURRENT_LIST_DIR} CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_LIST_DIR}/*_test.py)
foreach(file IN LISTS script_tests)
  string(REGEX REPLACE "_test\\.py$" "" name ${file})
  # These need the program: its lists of keys are what the corpus is drawn from, and what pictures
  # and looks must have words for.
  if(name MATCHES "^(ci_gate|corpus|looks|shipped_pictures|study_pictures)$")
    set(arguments --program $<TARGET_FILE:retrysim-cli>)
  else()
    set(arguments)
  endif()
  if(name MATCHES "^shipped_pictures$")
    retrysim_add_sized_test(scripts/${name}
      COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/${file} ${arguments}
      BRIEF --brief
      PROPERTIES LABELS "unit;no-sanitizer" TIMEOUT 600)
    continue()
  endif()
  add_test(NAME scripts/${name}
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/${file} ${arguments})
  set_tests_properties(scripts/${name} PROPERTIES LABELS "unit;no-sanitizer" TIMEOUT 600)
endforeach()

# What only we call, and what takes long for that, is tested every night.
set_tests_properties(scripts/corpus scripts/help scripts/mutants PROPERTIES
  LABELS "nightly;no-sanitizer")

# ctest starts the tests with the highest COST, in seconds, first, so that none is left to run alone
# at the end. From the second time on it knows better.
set_tests_properties(scripts/plot PROPERTIES COST 25)
