# SPDX-License-Identifier: Apache-2.0
# How every target of the project is compiled, said once.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Asserts state what only our own bug can break: they stay on in every build.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

add_library(stretto_build_flags INTERFACE)
target_compile_options(stretto_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(stretto_build_flags INTERFACE -Wthread-safety -Wglobal-constructors)
endif()
if(STRETTO_WERROR)
  target_compile_options(stretto_build_flags INTERFACE -Werror)
endif()
if(STRETTO_SANITIZE)
  add_compile_options(-fsanitize=${STRETTO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${STRETTO_SANITIZE})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
find_program(STRETTO_CCACHE ccache)
if(STRETTO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STRETTO_CCACHE})
endif()

# stretto_library(name SOURCES... PUBLIC libs... PRIVATE libs...)
function(stretto_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(stretto_${name} STATIC ${ARG_SOURCES})
  add_library(stretto::${name} ALIAS stretto_${name})
  set_target_properties(stretto_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(stretto_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
    $<INSTALL_INTERFACE:include>)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(stretto_${name} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  endif()
  target_link_libraries(stretto_${name} PUBLIC ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:stretto_build_flags>)
endfunction()

# stretto_program(name SOURCES... LIBS...): a binary in bin/, named as given.
function(stretto_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} stretto_build_flags)
endfunction()
