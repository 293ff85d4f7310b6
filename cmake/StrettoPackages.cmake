# SPDX-License-Identifier: Apache-2.0
# Packages for Debian, by `cpack -G DEB` (tools/packages): stretto, the programs; libstretto-dev;
# python3-stretto. What they depend on is read from the programs and from what the libraries link.
if(BUILD_SHARED_LIBS)
  return()
endif()

set(STRETTO_PYTHON_MODULES lib/python3/dist-packages)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME stretto)
set(CPACK_PACKAGE_CONTACT "The Stretto contributors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/pack_folders.cmake)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(same_version "(= ${PROJECT_VERSION})")

# stretto_package(GROUP NAME SECTION DESCRIPTION COMPONENTS...): a package of these components, with
# the file that says under what licence it is. Without Debian's tool there are no dependencies.
find_program(STRETTO_SHLIBDEPS dpkg-shlibdeps)
macro(stretto_package group name section description)
  string(TOUPPER ${group} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
  if(STRETTO_SHLIBDEPS)
    set(CPACK_DEBIAN_${upper}_PACKAGE_SHLIBDEPS ON)
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian/copyright DESTINATION share/doc/${name}
    COMPONENT ${group}_copyright EXCLUDE_FROM_ALL)
  list(APPEND STRETTO_PACKAGE_GROUPS ${group})
  foreach(component IN ITEMS ${ARGN} ${group}_copyright)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
    string(TOUPPER ${component} component)
    set(CPACK_COMPONENT_${component}_GROUP ${group})
  endforeach()
endmacro()

set(CPACK_COMPONENTS_ALL "")
set(what "Processes that train a model exchange gradients and parameters through servers
that sum or update them.")
stretto_package(runtime stretto science "${PROJECT_DESCRIPTION}
${what} This package has the programs of such a job: the
launcher, the scheduler and the server; and those that look into a running job,
that look at checkpoints and that measure." programs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "libfabric1, openssh-client")

stretto_package(libraries libstretto-dev libdevel "${PROJECT_DESCRIPTION} (development files)
${what} This package has headers and static libraries of the
worker's interface, of the reader of training data and of RPC, for CMake
(find_package(stretto)) and for pkg-config." development)
set(needed libprotobuf-dev libfmt-dev libsodium-dev)
foreach(pair IN ITEMS PkgConfig::ZeroMQ=libzmq3-dev TBB::tbb=libtbb-dev
        PkgConfig::Uring=liburing-dev PkgConfig::Isal=libisal-dev
        prometheus-cpp::pull=prometheus-cpp-dev)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 target)
  list(GET pair 1 package)
  if(target IN_LIST STRETTO_LINKED)
    list(APPEND needed ${package})
  endif()
endforeach()
list(JOIN needed ", " CPACK_DEBIAN_LIBRARIES_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_RECOMMENDS "stretto ${same_version}, pkg-config")

if(STRETTO_HAVE_PYTHON)
  install(TARGETS stretto_python LIBRARY DESTINATION ${STRETTO_PYTHON_MODULES}/stretto
    COMPONENT python EXCLUDE_FROM_ALL)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bindings/python/stretto
    ${PROJECT_SOURCE_DIR}/bindings/python/byteps DESTINATION ${STRETTO_PYTHON_MODULES}
    COMPONENT python EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN __pycache__ EXCLUDE)
  install(FILES ${PROJECT_SOURCE_DIR}/bindings/python/stretto_pytest.py
    DESTINATION ${STRETTO_PYTHON_MODULES} COMPONENT python EXCLUDE_FROM_ALL)
  foreach(script IN ITEMS bpslaunch=stretto.bpslaunch stretto-doctor=stretto.doctor)
    string(REPLACE "=" ";" script ${script})
    list(GET script 0 name)
    list(GET script 1 module)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/scripts/${name} @ONLY CONTENT
"#!/usr/bin/python3
import sys

from @module@ import main

sys.exit(main())
")
    install(PROGRAMS ${PROJECT_BINARY_DIR}/scripts/${name} DESTINATION bin
      COMPONENT python EXCLUDE_FROM_ALL)
  endforeach()
  stretto_package(python python3-stretto python "${PROJECT_DESCRIPTION} (Python 3)
${what} This package has the Python packages stretto and
byteps: optimizers and exchanges for PyTorch, and a reader of training data."
    python)
  math(EXPR next "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "stretto ${same_version}, \
python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next}~)")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-torch, python3-numpy")
  # They compile the modules, and remove what was compiled.
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/cmake/debian/postinst ${PROJECT_SOURCE_DIR}/cmake/debian/prerm)
endif()

# All that is installed and packed, and no tests.
add_custom_target(stretto_packed)
add_dependencies(stretto_packed ${STRETTO_PROGRAMS} ${STRETTO_INSTALLED_LIBRARIES})
# What the components programs and python install: a wheel's files.
add_custom_target(stretto_in_wheel)
add_dependencies(stretto_in_wheel ${STRETTO_PROGRAMS})
foreach(target IN ITEMS stretto_manuals stretto_python stretto_python_manuals)
  if(TARGET ${target})
    add_dependencies(stretto_packed ${target})
    add_dependencies(stretto_in_wheel ${target})
  endif()
endforeach()
include(CPack)
