# Picks up ccache and lld where they exist: neither is required, both cut the
# edit-build cycle to seconds on two cores.
find_program(TILEWRIGHT_CCACHE ccache)
if(TILEWRIGHT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Objects are shared between checkouts and between build folders of one
  # checkout (build/ and the wheels' build-wheel/):
  #   BASEDIR, NOHASHDIR  paths below the checkout count relative to the build folder
  #   PCH_EXTSUM          a precompiled header, whose bytes hold absolute paths,
  #                       is known by a checksum of what it was made from (see
  #                       tilewright_library)
  #   SLOPPINESS          macros of a precompiled header are not expanded again,
  #                       and its time is no part of its content
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${TILEWRIGHT_CCACHE})
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()
find_program(TILEWRIGHT_LLD NAMES ld.lld-19 ld.lld HINTS /usr/lib/llvm-19/bin)
if(TILEWRIGHT_LLD)
  add_link_options(-fuse-ld=lld)
endif()
add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffunction-sections -fdata-sections)
