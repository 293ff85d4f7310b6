# SPDX-License-Identifier: Apache-2.0
# Man pages and bash completion of the programs that are installed, made of what each prints at
# --help. Without Python there are none.
set(STRETTO_PROGRAMS stretto-scheduler stretto-server stretto-launch stretto-trace stretto-top)
if(TARGET stretto-bench)
  list(APPEND STRETTO_PROGRAMS stretto-bench)
endif()

find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND AND NOT STRETTO_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(STRETTO_MANUALS "")
  set(STRETTO_COMPLETIONS "")
  set(files "")
  foreach(program IN LISTS STRETTO_PROGRAMS)
    list(APPEND STRETTO_MANUALS ${PROJECT_BINARY_DIR}/manuals/man/${program}.1)
    list(APPEND STRETTO_COMPLETIONS ${PROJECT_BINARY_DIR}/manuals/completions/${program})
    list(APPEND files $<TARGET_FILE:${program}>)
  endforeach()
  add_custom_command(OUTPUT ${STRETTO_MANUALS} ${STRETTO_COMPLETIONS}
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/cmake/make_manuals.py ${PROJECT_VERSION}
            ${PROJECT_BINARY_DIR}/manuals ${files}
    DEPENDS ${STRETTO_PROGRAMS} ${PROJECT_SOURCE_DIR}/cmake/make_manuals.py
    COMMENT "Making man pages and completion")
  add_custom_target(stretto_manuals ALL DEPENDS ${STRETTO_MANUALS} ${STRETTO_COMPLETIONS})
  install(FILES ${STRETTO_MANUALS} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
  install(FILES ${STRETTO_COMPLETIONS} COMPONENT programs
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
