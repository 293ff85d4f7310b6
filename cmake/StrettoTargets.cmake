# SPDX-License-Identifier: Apache-2.0
# How every target of the project is compiled, said once.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# What a shared library of ours shows is what public headers say; programs are the same either way.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Asserts state what only our own bug can break: they stay on in every build.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

add_library(stretto_build_flags INTERFACE)
target_compile_options(stretto_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlapping copies in std::string's operator+ (GCC bug 105651).
  target_compile_options(stretto_build_flags INTERFACE -Wno-restrict)
endif()

# stretto_allow_unity(): no warnings about what is right in a unity build, in this folder. There a
# folder's files stand one after another, so g++ takes what is in an unnamed namespace of one file
# for a header's.
function(stretto_allow_unity)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()
if(CMAKE_UNITY_BUILD)
  stretto_allow_unity()
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(stretto_build_flags INTERFACE -Wthread-safety -Wglobal-constructors)
endif()
if(STRETTO_WERROR)
  target_compile_options(stretto_build_flags INTERFACE -Werror)
endif()
if(STRETTO_SANITIZE)
  # Without the checks that cost most to compile and that AddressSanitizer makes in its own way.
  # Alignment is checked in the libraries that read bytes from outside (stretto_library).
  add_compile_options(-fsanitize=${STRETTO_SANITIZE} -fno-sanitize=null,object-size,vptr,alignment
                      -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${STRETTO_SANITIZE})
  add_compile_definitions(_GLIBCXX_ASSERTIONS STRETTO_SANITIZED)
endif()
# Fuzzing needs every library instrumented for coverage, and finds little without the sanitizers.
if(STRETTO_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR NOT STRETTO_SANITIZE)
    message(FATAL_ERROR "STRETTO_FUZZ=ON wants clang and STRETTO_SANITIZE; use cmake --preset asan")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
# Checkouts beside each other share what ccache keeps: paths below the folder that they stand in are
# taken as relative, in what is compared and in what is compiled.
get_filename_component(STRETTO_CHECKOUTS ${PROJECT_SOURCE_DIR} DIRECTORY)
find_program(STRETTO_CCACHE ccache)
if(STRETTO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${STRETTO_CHECKOUTS}
    CCACHE_NOHASHDIR=true
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${STRETTO_CCACHE})
endif()
# Whoever builds often has lld, which links in a quarter of the time.
find_program(STRETTO_LLD ld.lld)
if(STRETTO_LLD AND STRETTO_WERROR)
  add_link_options(-fuse-ld=lld)
endif()
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)

# stretto_compile_options(target [GLOBALS]): our warnings. The options by themselves, because a link
# to stretto_build_flags would go into the installed package. GLOBALS permits what registers itself
# by a global: the tests of GoogleTest, and gflags' flags in a program's main.
function(stretto_compile_options target)
  target_compile_options(${target} PRIVATE
    $<TARGET_PROPERTY:stretto_build_flags,INTERFACE_COMPILE_OPTIONS>)
  if("GLOBALS" IN_LIST ARGN AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -Wno-global-constructors)
  endif()
endfunction()

# stretto_library(name SOURCES... PUBLIC libs... PRIVATE libs...)
function(stretto_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(stretto_${name} STATIC ${ARG_SOURCES})
  add_library(stretto::${name} ALIAS stretto_${name})
  set_target_properties(stretto_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(stretto_${name} PUBLIC cxx_std_20)
  target_include_directories(stretto_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(stretto_${name} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  endif()
  target_link_libraries(stretto_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  stretto_compile_options(stretto_${name})
  if(STRETTO_SANITIZE MATCHES "undefined" AND
     name MATCHES "^(van|common|core|ops|checkpoint|input)$")
    target_compile_options(stretto_${name} PRIVATE -fsanitize=alignment)
  endif()
endfunction()

# stretto_program(name SOURCES... LIBS...): a binary in bin/, named as given.
function(stretto_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
  stretto_compile_options(${name} GLOBALS)
  add_dependencies(${name} stretto_commit)
endfunction()
