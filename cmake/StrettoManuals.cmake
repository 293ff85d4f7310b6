# SPDX-License-Identifier: Apache-2.0
# Man pages and bash completion of the programs that are installed, made of what each prints at
# --help. Without Python there are none.
set(STRETTO_PROGRAMS stretto-scheduler stretto-server stretto-launch stretto-trace stretto-top
  stretto-checkpoint)
if(TARGET stretto-bench)
  list(APPEND STRETTO_PROGRAMS stretto-bench)
endif()

# stretto_make_manuals(TARGET PYTHON... COMPONENT [EXTRA] NAMES... RUN... DEPENDS...): a target that
# makes the pages of the programs NAMES by telling make_manuals.py to run RUN, and installs them.
function(stretto_make_manuals target)
  cmake_parse_arguments(arg "" "COMPONENT;EXTRA" "PYTHON;NAMES;RUN;DEPENDS" ${ARGN})
  set(folder ${PROJECT_BINARY_DIR}/manuals)
  list(TRANSFORM arg_NAMES REPLACE "(.+)" "${folder}/man/\\1.1" OUTPUT_VARIABLE pages)
  list(TRANSFORM arg_NAMES PREPEND ${folder}/completions/ OUTPUT_VARIABLE completions)
  set(script ${PROJECT_SOURCE_DIR}/cmake/make_manuals.py)
  add_custom_command(OUTPUT ${pages} ${completions}
    COMMAND ${arg_PYTHON} ${script} ${PROJECT_VERSION} ${folder} ${arg_RUN}
    DEPENDS ${arg_DEPENDS} ${script}
    COMMENT "Making man pages and completion")
  add_custom_target(${target} ALL DEPENDS ${pages} ${completions})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT ${arg_COMPONENT} ${arg_EXTRA})
  install(FILES ${completions} COMPONENT ${arg_COMPONENT} ${arg_EXTRA}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endfunction()

find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND AND NOT STRETTO_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  list(TRANSFORM STRETTO_PROGRAMS REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
  stretto_make_manuals(stretto_manuals PYTHON Python3::Interpreter COMPONENT programs
    NAMES ${STRETTO_PROGRAMS} RUN ${files} DEPENDS ${STRETTO_PROGRAMS})
  # The package's programs go where the package goes: with `pip`, or Debian's python3-stretto.
  if(STRETTO_HAVE_PYTHON)
    set(modules ${PROJECT_SOURCE_DIR}/bindings/python/stretto)
    stretto_make_manuals(stretto_python_manuals COMPONENT python EXTRA EXCLUDE_FROM_ALL
      PYTHON ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python ${Python_EXECUTABLE}
      NAMES bpslaunch stretto-doctor
      RUN bpslaunch=stretto.bpslaunch stretto-doctor=stretto.doctor stretto-launch
      DEPENDS stretto_python ${modules}/bpslaunch.py ${modules}/doctor.py)
  endif()
endif()
