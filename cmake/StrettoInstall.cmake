# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: the programs; the worker API, the reader and RPC with the
# libraries under them or as one shared library, a CMake package (stretto::worker, stretto::input,
# stretto::rpc) and a pkg-config file; the licence. The target uninstall takes it away again.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(STRETTO_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/stretto)
# A library comes before those that it stands on, as static linking wants them.
set(STRETTO_INSTALLED_LIBRARIES
  stretto_worker stretto_input stretto_rpc stretto_ops stretto_collective stretto_checkpoint
  stretto_index stretto_van
  stretto_messages
  stretto_trace stretto_metrics stretto_core stretto_common)

# What the installed libraries themselves link to; a program that links to them needs it too.
set(STRETTO_LINKED "")
set(STRETTO_OBJECTS "")
foreach(library IN LISTS STRETTO_INSTALLED_LIBRARIES)
  get_target_property(linked ${library} LINK_LIBRARIES)
  list(APPEND STRETTO_LINKED ${linked})
  list(APPEND STRETTO_OBJECTS $<TARGET_OBJECTS:${library}>)
endforeach()
list(REMOVE_DUPLICATES STRETTO_LINKED)
list(FILTER STRETTO_LINKED EXCLUDE REGEX "stretto")

# The same objects as one shared library. Its name has the minor version: before 1.0 that is what
# may change interfaces. It shows what the public headers show.
if(BUILD_SHARED_LIBS OR NOT STRETTO_SANITIZE)
  add_library(stretto_shared SHARED ${STRETTO_OBJECTS})
  target_link_libraries(stretto_shared PRIVATE ${STRETTO_LINKED})
  target_link_options(stretto_shared PRIVATE LINKER:--exclude-libs,ALL
    $<$<NOT:$<BOOL:${STRETTO_SANITIZE}>>:LINKER:--no-undefined>)
  target_compile_features(stretto_shared INTERFACE cxx_std_20)
  target_include_directories(stretto_shared INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(stretto_shared PROPERTIES
    OUTPUT_NAME stretto EXPORT_NAME shared VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(NOT BUILD_SHARED_LIBS AND NOT STRETTO_TESTS)
    set_target_properties(stretto_shared PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endif()

# What find_package and pkg-config must find besides; a shared library has its own.
set(STRETTO_FIND_DEPENDENCIES "")
set(STRETTO_PC_REQUIRES "")
set(STRETTO_PC_PRIVATE "")

# stretto_needs(COMMAND PKG_CONFIG): a line of strettoConfig.cmake, and names for pkg-config.
macro(stretto_needs command)
  string(APPEND STRETTO_FIND_DEPENDENCIES "${command}\n")
  list(APPEND STRETTO_PC_REQUIRES ${ARGN})
endmacro()
macro(stretto_needs_module prefix module)
  stretto_needs("stretto_find_module(${prefix} ${module})" ${ARGN})
endmacro()

if(NOT BUILD_SHARED_LIBS)
  stretto_needs("find_dependency(Threads)")
  stretto_needs("find_dependency(fmt)" fmt)
  stretto_needs("find_dependency(Protobuf)" protobuf)
  stretto_needs_module(Sodium libsodium>=1.0.18 libsodium)
  if("PkgConfig::ZeroMQ" IN_LIST STRETTO_LINKED)
    stretto_needs_module(ZeroMQ libzmq>=4.3 libzmq)
  endif()
  if("TBB::tbb" IN_LIST STRETTO_LINKED)
    stretto_needs("find_dependency(TBB)" tbb)
  endif()
  if("PkgConfig::Fabric" IN_LIST STRETTO_LINKED)
    stretto_needs_module(Fabric libfabric>=1.11 libfabric)
  endif()
  if("PkgConfig::Uring" IN_LIST STRETTO_LINKED)
    stretto_needs_module(Uring liburing>=2.2 liburing)
  endif()
  if("PkgConfig::Isal" IN_LIST STRETTO_LINKED)
    stretto_needs_module(Isal libisal libisal)
  endif()
  if("prometheus-cpp::pull" IN_LIST STRETTO_LINKED)
    stretto_needs("find_dependency(prometheus-cpp)")
    set(STRETTO_PC_PRIVATE " -lprometheus-cpp-pull -lprometheus-cpp-core -pthread")
  endif()
endif()
list(JOIN STRETTO_PC_REQUIRES " " STRETTO_PC_REQUIRES)

# The pkg-config file finds the prefix from its own place, so that an installed tree can be moved.
set(STRETTO_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH STRETTO_PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  string(PREPEND STRETTO_PC_PREFIX "\${pcfiledir}/")
endif()
foreach(folder IN ITEMS LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(STRETTO_PC_${folder} "${CMAKE_INSTALL_${folder}}")
  else()
    set(STRETTO_PC_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()

set(STRETTO_PC_LIBS " -lstretto")
if(NOT BUILD_SHARED_LIBS)
  list(TRANSFORM STRETTO_INSTALLED_LIBRARIES PREPEND " -l" OUTPUT_VARIABLE STRETTO_PC_LIBS)
  list(JOIN STRETTO_PC_LIBS "" STRETTO_PC_LIBS)
endif()

# What `uninstall` has to know besides the files: which of their folders were not there before. A
# folder in the list is removed if nothing is left in it.
if(PROJECT_IS_TOP_LEVEL)
  set(STRETTO_FOLDERS ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    ${STRETTO_PACKAGE_DIR} ${CMAKE_INSTALL_INCLUDEDIR}/stretto ${CMAKE_INSTALL_DOCDIR}
    ${CMAKE_INSTALL_DATADIR}/stretto ${CMAKE_INSTALL_MANDIR}/man1
    ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/new_folders.cmake.in
    ${PROJECT_BINARY_DIR}/new_folders.cmake @ONLY)
  install(SCRIPT ${PROJECT_BINARY_DIR}/new_folders.cmake)
endif()

# Components, so that they can be packages of their own: programs, and what programs are made with.
include(StrettoManuals)
install(TARGETS ${STRETTO_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT programs)
install(FILES ${STRETTO_COMMIT} DESTINATION ${CMAKE_INSTALL_DATADIR}/stretto COMPONENT programs)

set(installed ${STRETTO_INSTALLED_LIBRARIES})
if(BUILD_SHARED_LIBS)
  set(installed stretto_shared)
endif()
install(TARGETS ${installed} EXPORT strettoTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
foreach(folder IN ITEMS common checkpoint worker worker/training input rpc)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")
endforeach()

install(EXPORT strettoTargets NAMESPACE stretto:: DESTINATION ${STRETTO_PACKAGE_DIR}
  COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/strettoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/strettoConfig.cmake INSTALL_DESTINATION ${STRETTO_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/strettoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/strettoConfig.cmake
  ${PROJECT_BINARY_DIR}/strettoConfigVersion.cmake DESTINATION ${STRETTO_PACKAGE_DIR}
  COMPONENT development)

configure_file(${PROJECT_SOURCE_DIR}/cmake/stretto.pc.in ${PROJECT_BINARY_DIR}/stretto.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/stretto.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development)

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall COMMENT "Removing what install_manifest.txt names"
    COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
endif()
