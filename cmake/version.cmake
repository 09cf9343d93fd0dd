# Writes OUT with the version and the commit of SOURCE; run at every build, touches the file only when it changed.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT commit)
  set(commit unknown)
endif()
set(text "#define BERTH_VERSION \"${VERSION}\"\n#define BERTH_COMMIT \"${commit}\"\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
