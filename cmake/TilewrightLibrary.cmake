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

# tilewright_header(NAME header [AFTER base] [CODE] [VERSION text] [INCLUDES ...]):
# precompiles a header in a target of its own, for PCH NAME of tilewright_library and
# for tilewright_use_header. Templates that the header needs are instantiated in it,
# not in each file that includes it.
#
#   AFTER     the header adds to another one, which its users get with it
#   CODE      what its inline functions and instances compile to is made once too, as
#             library NAMECode; a file that uses the header inlines them or calls them
#             (Clang has this with -fpch-codegen). Worth it where most files use the
#             same functions: pybind11's, the standard library's, and not MLIR's
#   VERSION   what the header is made from, beside files of the project, the compiler
#             and fmt
#   INCLUDES  folders of headers
#
# CMake's own use of a precompiled header also puts the header's absolute path on
# each command line, which would make every build folder different for ccache;
# -include-pch alone does not.
function(tilewright_header name header)
  cmake_parse_arguments(ARG "CODE" "AFTER;VERSION" "INCLUDES" ${ARGN})
  set(pch "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch")
  set(stub "${CMAKE_BINARY_DIR}/precompiled/${name}.cpp")
  file(CONFIGURE OUTPUT "${stub}" CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${stub}")
  target_precompile_headers(${name} PRIVATE "${CMAKE_SOURCE_DIR}/${header}")
  target_compile_options(${name} PRIVATE -fpch-instantiate-templates)
  set(parts ${name})
  set(codes)
  if(ARG_CODE)
    list(APPEND parts ${name}Code)
    set(codes ${name}Code)
    target_compile_options(${name} PRIVATE -fpch-codegen)
    set(stub "${CMAKE_BINARY_DIR}/precompiled/${name}Code.cpp")
    file(CONFIGURE OUTPUT "${stub}" CONTENT "")
    add_library(${name}Code STATIC EXCLUDE_FROM_ALL "${stub}")
    target_compile_options(${name}Code PRIVATE "SHELL:-include-pch ${pch}" "SHELL:-Xclang -building-pch-with-obj")
    # The stub's text never changes; the header's may.
    set_property(SOURCE "${stub}" PROPERTY OBJECT_DEPENDS "${pch};${pch}.sum")
    add_dependencies(${name}Code ${name})
    # The library calls whatever the headers call; what nobody uses is dropped
    # before it is missed.
    target_link_options(${name}Code INTERFACE -Wl,--gc-sections)
  endif()
  foreach(part ${parts})
    target_link_libraries(${part} PRIVATE fmt::fmt-header-only)
    target_include_directories(${part} SYSTEM PRIVATE ${ARG_INCLUDES})
  endforeach()
  set(baseSum)
  if(ARG_AFTER)
    tilewright_use_header(${name} ${ARG_AFTER})
    get_target_property(baseCodes ${ARG_AFTER} TILEWRIGHT_CODE)
    get_target_property(basePch ${ARG_AFTER} TILEWRIGHT_PCH)
    list(APPEND codes ${baseCodes})
    set(baseSum "${basePch}.sum")
  endif()
  # What ccache looks at instead of the binary.
  set(includes ${ARG_INCLUDES} ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  set(version "${ARG_VERSION} fmt ${fmt_VERSION} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${ARG_CODE}")
  add_custom_command(OUTPUT "${pch}.sum" DEPENDS "${pch}" ${baseSum} "${CMAKE_SOURCE_DIR}/cmake/HashHeader.cmake" VERBATIM
    COMMAND ${CMAKE_COMMAND} "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DHEADER=${CMAKE_SOURCE_DIR}/${header}" "-DOWN=${CMAKE_SOURCE_DIR};${CMAKE_BINARY_DIR}"
            "-DSYSTEM=${includes}" "-DVERSION=${version}" "-DBASE=${baseSum}" "-DOUTPUT=${pch}.sum" -P "${CMAKE_SOURCE_DIR}/cmake/HashHeader.cmake")
  # A linked library orders only link steps; a custom target is finished before
  # its dependents compile.
  add_custom_target(${name}Ready DEPENDS "${pch}" "${pch}.sum")
  set_target_properties(${name} PROPERTIES TILEWRIGHT_PCH "${pch}" TILEWRIGHT_CODE "${codes}")
endfunction()

# tilewright_use_header(target NAME): compiles a target's files with the header NAME.
#
# The sources may belong to several targets with a header each, so none gets an
# OBJECT_DEPENDS, which would make every header for each: a custom target orders
# the steps, and the dependency files name the header's parts.
function(tilewright_use_header target name)
  get_target_property(pch ${name} TILEWRIGHT_PCH)
  get_target_property(codes ${name} TILEWRIGHT_CODE)
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${pch}")
  if(codes)
    target_link_libraries(${target} PRIVATE ${codes})
  endif()
  add_dependencies(${target} ${name}Ready)
endfunction()
