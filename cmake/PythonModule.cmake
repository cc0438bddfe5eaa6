# The interpreter to build for and pybind11, which lies in its site-packages.
# A development build (make build) leaves _core beside the package's Python
# files, so that the source tree is importable without an installation.
option(TILEWRIGHT_DEVELOPMENT "Put the extension into python/tilewright" OFF)

find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
if(NOT pybind11_DIR)
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
    OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 2.13 CONFIG REQUIRED)
