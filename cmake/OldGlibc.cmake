# tilewright_link_old_glibc(target): links a shared library against the symbols
# that glibc had at TILEWRIGHT_GLIBC, so that it loads with that release and all
# later ones. What the release lacks is in python/portability/OldGlibc.cpp.
set(TILEWRIGHT_GLIBC 2.28 CACHE STRING "The oldest glibc that _core loads with; empty for this machine's")

set(stubs "${CMAKE_BINARY_DIR}/glibc-${TILEWRIGHT_GLIBC}")
set(script "${CMAKE_SOURCE_DIR}/cmake/glibc_stubs.py")
if(TILEWRIGHT_GLIBC AND "${script}" IS_NEWER_THAN "${stubs}/libc.so")
  execute_process(COMMAND ${Python_EXECUTABLE} "${script}" ${CMAKE_C_COMPILER} ${TILEWRIGHT_GLIBC} "${stubs}"
    COMMAND_ERROR_IS_FATAL ANY)
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")

function(tilewright_link_old_glibc target)
  if(NOT TILEWRIGHT_GLIBC)
    return()
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:TilewrightOldGlibc>)
  # The three are parts of libc by now. They are named all the same: on a system
  # where they are not, nothing else would load them. libc_nonshared.a holds
  # functions that belong to each library that calls them (atexit).
  target_link_options(${target} PRIVATE "-L${CMAKE_BINARY_DIR}/glibc-${TILEWRIGHT_GLIBC}")
  target_link_libraries(${target} PRIVATE
    -Wl,--no-as-needed -lpthread -ldl -lrt -Wl,--as-needed -l:libc_nonshared.a -l:ld-linux-x86-64.so.2)
endfunction()
