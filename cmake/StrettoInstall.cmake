# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: the programs, the worker API, the reader and RPC with the
# libraries under them, a CMake package (stretto::worker, stretto::input, stretto::rpc), and a
# pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(STRETTO_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/stretto)
# A library comes before those that it stands on, as static linking wants them.
set(STRETTO_INSTALLED_LIBRARIES
  stretto_worker stretto_input stretto_rpc stretto_ops stretto_van stretto_messages
  stretto_trace stretto_metrics stretto_common)

# What the installed libraries themselves link to; a program that links to them needs it too.
set(STRETTO_LINKED "")
foreach(library IN LISTS STRETTO_INSTALLED_LIBRARIES)
  get_target_property(linked ${library} LINK_LIBRARIES)
  list(APPEND STRETTO_LINKED ${linked})
endforeach()

set(STRETTO_FIND_DEPENDENCIES "")
set(STRETTO_PC_REQUIRES libzmq protobuf fmt)
if("TBB::tbb" IN_LIST STRETTO_LINKED)
  string(APPEND STRETTO_FIND_DEPENDENCIES "find_dependency(TBB)\n")
  list(APPEND STRETTO_PC_REQUIRES tbb)
endif()
if("PkgConfig::Fabric" IN_LIST STRETTO_LINKED)
  string(APPEND STRETTO_FIND_DEPENDENCIES
    "pkg_check_modules(Fabric REQUIRED IMPORTED_TARGET libfabric>=1.11)\n")
  list(APPEND STRETTO_PC_REQUIRES libfabric)
endif()
if("PkgConfig::Uring" IN_LIST STRETTO_LINKED)
  string(APPEND STRETTO_FIND_DEPENDENCIES
    "pkg_check_modules(Uring REQUIRED IMPORTED_TARGET liburing>=2.2)\n")
  list(APPEND STRETTO_PC_REQUIRES liburing)
endif()
if("PkgConfig::Isal" IN_LIST STRETTO_LINKED)
  string(APPEND STRETTO_FIND_DEPENDENCIES
    "pkg_check_modules(Isal REQUIRED IMPORTED_TARGET libisal)\n")
  list(APPEND STRETTO_PC_REQUIRES libisal)
endif()
set(STRETTO_PC_PRIVATE "")
if("prometheus-cpp::pull" IN_LIST STRETTO_LINKED)
  string(APPEND STRETTO_FIND_DEPENDENCIES "find_dependency(prometheus-cpp)\n")
  set(STRETTO_PC_PRIVATE " -lprometheus-cpp-pull -lprometheus-cpp-core")
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

set(STRETTO_PC_LIBS "")
foreach(library IN LISTS STRETTO_INSTALLED_LIBRARIES)
  string(APPEND STRETTO_PC_LIBS " -l${library}")
endforeach()

foreach(program IN ITEMS stretto-scheduler stretto-server stretto-launch stretto-bench
        stretto-trace stretto-top)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

install(TARGETS ${STRETTO_INSTALLED_LIBRARIES} EXPORT strettoTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder IN ITEMS common worker worker/input rpc)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endforeach()

install(EXPORT strettoTargets NAMESPACE stretto:: DESTINATION ${STRETTO_PACKAGE_DIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/strettoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/strettoConfig.cmake INSTALL_DESTINATION ${STRETTO_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/strettoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/strettoConfig.cmake
  ${PROJECT_BINARY_DIR}/strettoConfigVersion.cmake DESTINATION ${STRETTO_PACKAGE_DIR})

configure_file(${PROJECT_SOURCE_DIR}/cmake/stretto.pc.in ${PROJECT_BINARY_DIR}/stretto.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/stretto.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
