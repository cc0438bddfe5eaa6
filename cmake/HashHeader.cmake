# Writes into OUTPUT what decides a precompiled header's content and is the same in
# each checkout: the texts of HEADER and of the project's headers that it includes,
# the VERSION of all else, and the same of the header that it adds to (BASE, a file
# that this script wrote). Run with cmake -P.
set(arguments)
foreach(folder ${OWN})
  list(APPEND arguments "-I${folder}")
endforeach()
foreach(folder ${SYSTEM})
  list(APPEND arguments -isystem "${folder}")
endforeach()
# -MM leaves out what is found in the folders of -isystem and the compiler's own.
execute_process(COMMAND "${COMPILER}" -std=gnu++17 -DFMT_HEADER_ONLY=1 ${arguments} -x c++ -MM -MT header "${HEADER}"
  OUTPUT_VARIABLE rule COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "^header:" "" rule "${rule}")
string(REPLACE "\\\n" " " rule "${rule}")
separate_arguments(files UNIX_COMMAND "${rule}")
if(NOT files)
  message(FATAL_ERROR "no file in '${rule}'")
endif()
set(sum "${VERSION}\n")
foreach(file ${files})
  file(SHA256 "${file}" text)
  string(APPEND sum "${text}\n")
endforeach()
if(BASE)
  file(READ "${BASE}" base)
  string(APPEND sum "${base}")
endif()
file(WRITE "${OUTPUT}" "${sum}")
