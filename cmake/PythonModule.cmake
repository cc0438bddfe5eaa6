# The interpreter to build for and pybind11, which lies in its site-packages.
# A development build (make build) leaves _core beside the package's Python
# files, so that the source tree is importable without an installation.
option(TILEWRIGHT_DEVELOPMENT "Put the extension into python/tilewright" OFF)
set(TILEWRIGHT_WHEEL_PYTHONS "" CACHE STRING "Further interpreters to build modules for (scripts/wheel)")

find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
if(NOT pybind11_DIR)
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
    OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 2.13 CONFIG REQUIRED)

# tilewright_describe_python(interpreter SUFFIX INCLUDES): how its extensions are
# named, and the folders of its headers.
function(tilewright_describe_python interpreter suffix includes)
  execute_process(COMMAND ${interpreter} -c "import sysconfig as s
print(s.get_config_var('EXT_SUFFIX'), *sorted({s.get_path('include'), s.get_path('platinclude')}), sep=';', end='')"
    OUTPUT_VARIABLE description COMMAND_ERROR_IS_FATAL ANY)
  list(POP_FRONT description found)
  set(${suffix} "${found}" PARENT_SCOPE)
  set(${includes} "${description}" PARENT_SCOPE)
endfunction()

# tilewright_python_module(NAME suffix includes SOURCES ... AST library): the
# extension _core for one interpreter. AST is compiled for the same one, and gets
# its headers here.
function(tilewright_python_module name suffix includes)
  cmake_parse_arguments(ARG "" "AST" "SOURCES" ${ARGN})
  add_library(${name} MODULE ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX "${suffix}" DEFINE_SYMBOL _core_EXPORTS)
  target_include_directories(${name} SYSTEM PRIVATE ${includes} ${pybind11_INCLUDE_DIR})
  target_compile_definitions(${name} PRIVATE TILEWRIGHT_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE ${ARG_AST} TilewrightCodegen TilewrightPasses
    TilewrightRuntime TilewrightInterpreter TilewrightAutotune)
  set(interpreter VERSION "pybind11 ${pybind11_VERSION} ${suffix}" INCLUDES ${includes} ${pybind11_INCLUDE_DIR})
  tilewright_header(${name}Headers python/bindings/BindingHeaders.h CODE ${interpreter})
  tilewright_use_header(${name} ${name}Headers)
  tilewright_header(${name}AstHeaders frontend/ast/AstHeaders.h AFTER ${name}Headers ${interpreter})
  tilewright_use_header(${ARG_AST} ${name}AstHeaders)
  # One file that runs on other machines: only the module's entry is visible, dead
  # code goes, the C++ library and the compression libraries are inside, and what is
  # not used after that is not asked for (LLVM names z3, for one).
  # The build id is the compiler's identity in keys.
  set(exports "${CMAKE_SOURCE_DIR}/python/exports.map")
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL
    -Wl,--gc-sections -Wl,--as-needed -Wl,-s -Wl,--build-id=sha1 -static-libstdc++ -static-libgcc)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${exports}")
  tilewright_link_old_glibc(${name})
endfunction()
