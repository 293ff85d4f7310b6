# SPDX-License-Identifier: Apache-2.0
# The options of the build, with CMake's own words for yes and no, in any case. Afterwards each is
# ON or OFF, a feature also AUTO; any other word is an error, where CMake would take it for a yes.

# stretto_read_option(NAME [AUTO]): NAME becomes one of these in the caller's scope.
function(stretto_read_option name)
  string(TOUPPER "${${name}}" given)
  if(given MATCHES "^(ON|YES|TRUE|Y|1)$")
    set(${name} ON PARENT_SCOPE)
  elseif(given MATCHES "^(OFF|NO|FALSE|N|0)$")
    set(${name} OFF PARENT_SCOPE)
  elseif("AUTO" IN_LIST ARGN AND given STREQUAL "AUTO")
    set(${name} AUTO PARENT_SCOPE)
  else()
    set(words ON OFF ${ARGN})
    list(JOIN words ", " wanted)
    message(FATAL_ERROR "${name} is '${${name}}', wanted one of ${wanted}")
  endif()
endfunction()

# stretto_switch(NAME DEFAULT TEXT): ON or OFF.
macro(stretto_switch name default text)
  option(${name} "${text}" ${default})
  stretto_read_option(${name})
endmacro()

# stretto_feature(NAME TEXT): AUTO, built where what it stands on is found; ON, an error where it is
# not; OFF.
macro(stretto_feature name text)
  set(${name} AUTO CACHE STRING "${text}: AUTO, ON or OFF")
  set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
  stretto_read_option(${name} AUTO)
endmacro()

stretto_switch(STRETTO_TESTS ${PROJECT_IS_TOP_LEVEL} "Build the tests")
stretto_switch(STRETTO_EXPERIMENTS ${STRETTO_TESTS} "Build the experiments; the tests need them")
stretto_switch(STRETTO_UNITY_TESTS OFF "Compile the tests together where the product is not")
stretto_switch(STRETTO_FUZZ OFF "Build the fuzz targets (clang only)")
stretto_switch(STRETTO_WERROR OFF "Treat warnings as errors")
stretto_switch(BUILD_SHARED_LIBS OFF "Install one shared library, and no static ones")
stretto_switch(STRETTO_ZMQ ON "The zmq transport, and encryption, by libzmq")
set(STRETTO_SANITIZE "" CACHE STRING
    "Sanitizers for every target, e.g. address,undefined or thread")
stretto_feature(STRETTO_BENCH "stretto-bench, which stands on libzmq; the tests need it")
stretto_feature(STRETTO_CUDA "CUDA kernels")
stretto_feature(STRETTO_PYTHON "Python packages")
stretto_feature(STRETTO_FABRIC "libfabric transport")
stretto_feature(STRETTO_URING "io_uring for reading data")
stretto_feature(STRETTO_ISAL "libisal for checksums of frames and records")
