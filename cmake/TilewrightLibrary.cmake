# tilewright_library(NAME DEPENDS ... [PCH name]): a static library of every .cpp
# in the calling folder, or in the folders named in FOLDERS, so that adding a file
# needs no edit here. PCH names a header precompiled by tilewright_header: MLIR's
# headers cost about 10 s per file otherwise.
function(tilewright_library name)
  cmake_parse_arguments(ARG "" "PCH" "FOLDERS;DEPENDS" ${ARGN})
  if(NOT ARG_FOLDERS)
    set(ARG_FOLDERS .)
  endif()
  set(sources)
  foreach(folder ${ARG_FOLDERS})
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
    list(APPEND sources ${found})
  endforeach()
  if(NOT sources)
    add_library(${name} INTERFACE)
    if(ARG_DEPENDS)
      target_link_libraries(${name} INTERFACE ${ARG_DEPENDS})
    endif()
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  if(ARG_PCH)
    tilewright_use_header(${name} ${ARG_PCH})
  endif()
endfunction()

# tilewright_header(NAME header): precompiles a header in a target of its own, for
# PCH NAME of the libraries; called at the top level. CMake's own use of a
# precompiled header also puts the header's absolute path on each command line,
# which would make every build folder different for ccache; -include-pch alone
# does not.
function(tilewright_header name header)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/precompiled/${name}.cpp" CONTENT "")
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/precompiled/${name}.cpp")
  target_link_libraries(${name} PRIVATE fmt::fmt-header-only)
  target_precompile_headers(${name} PRIVATE "${CMAKE_SOURCE_DIR}/${header}")
  # What ccache looks at instead of the binary. The header includes only headers
  # of installed packages, so its text and their version say all.
  file(SHA256 "${CMAKE_SOURCE_DIR}/${header}" text)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch.sum" CONTENT
    "${text} ${CMAKE_CXX_COMPILER_VERSION} ${LLVM_PACKAGE_VERSION} ${CMAKE_BUILD_TYPE}\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${header}")
endfunction()

function(tilewright_use_header target name)
  set(pch "${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch")
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${pch}")
  get_target_property(sources ${target} SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS "${pch}")
endfunction()
