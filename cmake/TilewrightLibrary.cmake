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

# tilewright_shared_header(NAME header version INCLUDES ...): as tilewright_header,
# and what the header's inline functions and the templates that it instantiates
# compile to is made once too: NAMECode is a library of it, and a file that uses
# the header only inlines them or calls them. Clang has this with -fpch-codegen.
# The version names what the header was made from, beside the compiler.
function(tilewright_shared_header name header version)
  cmake_parse_arguments(ARG "" "" "INCLUDES" ${ARGN})
  set(pch "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch")
  foreach(part ${name} ${name}Code)
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/precompiled/${part}.cpp" CONTENT "")
  endforeach()
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/precompiled/${name}.cpp")
  add_library(${name}Code STATIC EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/precompiled/${name}Code.cpp")
  foreach(part ${name} ${name}Code)
    target_link_libraries(${part} PRIVATE fmt::fmt-header-only)
    target_include_directories(${part} SYSTEM PRIVATE ${ARG_INCLUDES})
  endforeach()
  target_compile_options(${name} PRIVATE -fpch-codegen)
  target_precompile_headers(${name} PRIVATE "${CMAKE_SOURCE_DIR}/${header}")
  target_compile_options(${name}Code PRIVATE "SHELL:-include-pch ${pch}" "SHELL:-Xclang -building-pch-with-obj")
  # The stub's text never changes; the header's may.
  set_property(TARGET ${name}Code PROPERTY INTERFACE_TILEWRIGHT_HEADER "${pch}")
  set_property(SOURCE "${CMAKE_BINARY_DIR}/precompiled/${name}Code.cpp" PROPERTY OBJECT_DEPENDS "${pch}")
  add_dependencies(${name}Code ${name})
  # A linked library orders only link steps; a custom target is finished before
  # its dependents compile.
  add_custom_target(${name}Ready DEPENDS "${pch}")
  # The library calls whatever the headers call; what nobody uses is dropped
  # before it is missed.
  target_link_options(${name}Code INTERFACE -Wl,--gc-sections)
  file(SHA256 "${CMAKE_SOURCE_DIR}/${header}" text)
  file(CONFIGURE OUTPUT "${pch}.sum" CONTENT
    "${text} ${version} fmt ${fmt_VERSION} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} codegen\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${header}")
endfunction()

# The sources may belong to several targets with a header each, so none gets an
# OBJECT_DEPENDS, which would make every header for each: a custom target orders
# the steps, and the dependency files name the header's parts.
function(tilewright_use_shared_header target name)
  get_target_property(pch ${name}Code INTERFACE_TILEWRIGHT_HEADER)
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${pch}")
  target_link_libraries(${target} PRIVATE ${name}Code)
  add_dependencies(${target} ${name}Ready)
endfunction()

function(tilewright_use_header target name)
  set(pch "${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch")
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${pch}")
  get_target_property(sources ${target} SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS "${pch}")
endfunction()
