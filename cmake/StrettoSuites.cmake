# SPDX-License-Identifier: Apache-2.0
# Read by ctest: adds each suite of a GoogleTest program as a test; what runs over all transports,
# and waits much, as one for each of them. It is told the program, the folder that names its tests,
# their label, their environment and their launcher. A program that cannot list its tests is a test
# that fails.
set(added "")
execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE listed ERROR_QUIET
  RESULT_VARIABLE status TIMEOUT 60)
if(NOT status EQUAL 0)
  add_test(${folder}/starts ${launcher} ${folder}/starts ${program} --gtest_list_tests)
  list(APPEND added ${folder}/starts)
  set(listed "")
endif()
# A suite stands at the beginning of a line and ends with a dot; its tests are indented, and end
# with a slash and the transport.
string(REGEX MATCHALL "[^\n]+" lines "${listed}")
set(suites "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([A-Za-z0-9_/]+)\\.")
    set(suite ${CMAKE_MATCH_1})
    if(NOT suite MATCHES "^Transports/")
      list(APPEND suites "${suite}.*")
    endif()
  elseif(suite MATCHES "^Transports/" AND line MATCHES "^  [A-Za-z0-9_]+(/[a-z]+)")
    list(APPEND suites "${suite}.*${CMAKE_MATCH_1}")
  endif()
endforeach()
list(REMOVE_DUPLICATES suites)
foreach(suite IN LISTS suites)
  string(REPLACE ".*" "" name "${suite}")
  add_test(${folder}/${name} ${launcher} ${folder}/${name} ${program} --gtest_filter=${suite})
  list(APPEND added ${folder}/${name})
endforeach()
set_tests_properties(${added} PROPERTIES LABELS ${label} TIMEOUT 600 ENVIRONMENT "${environment}")
