# SPDX-License-Identifier: Apache-2.0
# Script: writes the commit of SOURCE, with "-dirty" where tracked files differ from it, to OUTPUT.
# It writes only what has changed, and nothing known is an empty file.
execute_process(COMMAND git -c safe.directory=* -C ${SOURCE} describe --always --dirty --abbrev=12
                        --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit "")
endif()
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} written)
endif()
if(NOT EXISTS ${OUTPUT} OR NOT written STREQUAL "${commit}\n")
  file(WRITE ${OUTPUT} "${commit}\n")
endif()
