# SPDX-License-Identifier: Apache-2.0
# How every test is run, said once.
enable_testing()

# The command of each test begins with this launcher and the test's name. The launcher measures the
# test's processor seconds for tools/run-tests.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(STRETTO_TEST_LAUNCHER ${Python3_EXECUTABLE} -IS ${PROJECT_SOURCE_DIR}/tools/measure)

# What a sanitizer build is for: the programs of GoogleTest, the fuzz targets, and what the scripts
# run that tools/check runs there. The rest is built by `all`.
add_custom_target(stretto_tested)

# What every test process is told; a sanitizer reads only its own line. libzmq and protobuf are not
# built with ThreadSanitizer, so it cannot judge what they do among themselves.
string(JOIN ":" STRETTO_TSAN_OPTIONS suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp
  ignore_noninstrumented_modules=1 halt_on_error=1 second_deadlock_stack=1)
string(JOIN ":" STRETTO_ASAN_OPTIONS detect_stack_use_after_return=1 strict_string_checks=1)
set(STRETTO_TEST_ENVIRONMENT
  STRETTO_BIN_DIR=${PROJECT_BINARY_DIR}/bin
  STRETTO_SOURCE_DIR=${PROJECT_SOURCE_DIR}
  STRETTO_BUILD_DIR=${PROJECT_BINARY_DIR}
  ASAN_OPTIONS=${STRETTO_ASAN_OPTIONS}
  UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  TSAN_OPTIONS=${STRETTO_TSAN_OPTIONS})

# stretto_discover_tests(program folder): each suite of a program of GoogleTest is one test, in a
# process of its own, named and labelled by its folder. They are listed when ctest runs, not when
# the build ends: a sanitizer that cannot start a program then fails a test, and not the build.
function(stretto_discover_tests program folder)
  string(REPLACE "/" "_" label ${folder})
  add_dependencies(stretto_tested ${program})
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake)
  file(GENERATE OUTPUT ${suites} CONTENT "\
set(program [[$<TARGET_FILE:${program}>]])
set(folder ${folder})
set(label ${label})
set(environment [[${STRETTO_TEST_ENVIRONMENT}]])
set(launcher [[${STRETTO_TEST_LAUNCHER}]])
include([[${PROJECT_SOURCE_DIR}/cmake/StrettoSuites.cmake]])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
endfunction()
