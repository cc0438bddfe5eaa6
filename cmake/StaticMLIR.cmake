# MLIR and LLVM 19, linked statically.
#
# Debian's exported MLIR targets name the shared library LLVM in
# INTERFACE_LINK_LIBRARIES. A static link through them would silently pull in
# libLLVM.so as a second copy of LLVM, with two registries of passes and
# options. So LLVM is removed from every exported MLIR target and the LLVM
# components are linked by name.
list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-19)
find_package(MLIR 19.1 REQUIRED CONFIG)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} at ${LLVM_DIR}")

get_property(mlirTargets GLOBAL PROPERTY MLIR_EXPORTED_TARGETS)
if(NOT mlirTargets)
  set(mlirTargets ${MLIR_EXPORTED_TARGETS})
endif()
foreach(target ${mlirTargets})
  if(TARGET ${target})
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(REMOVE_ITEM links LLVM "$<LINK_ONLY:LLVM>")
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
    endif()
  endif()
endforeach()

# The compression libraries go in statically too: a wheel must not ask for them.
foreach(pair "ZLIB::ZLIB=z" "zstd::libzstd_shared=zstd")
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 target)
  list(GET pair 1 name)
  find_library(TILEWRIGHT_STATIC_${name} NAMES lib${name}.a)
  if(TARGET ${target} AND TILEWRIGHT_STATIC_${name})
    set_target_properties(${target} PROPERTIES
      IMPORTED_LOCATION "${TILEWRIGHT_STATIC_${name}}"
      IMPORTED_LOCATION_RELEASE "${TILEWRIGHT_STATIC_${name}}"
      IMPORTED_LOCATION_NONE "${TILEWRIGHT_STATIC_${name}}")
  endif()
endforeach()

llvm_map_components_to_libnames(TILEWRIGHT_LLVM_LIBS
  core support passes nvptxcodegen nvptxdesc nvptxinfo analysis bitreader
  ipo linker irreader target transformutils scalaropts instcombine)

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# LLVM's own headers warn under -Wextra; SYSTEM keeps our warnings ours.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
add_definitions(${LLVM_DEFINITIONS})
