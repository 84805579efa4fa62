# Runs the port under CMake alone, with stand-ins for the functions of vcpkg that it calls:
#
#   cmake -DLINKAGE=static|dynamic -DOUT=FOLDER -DBUILT=FOLDER_WITH_LIBRARIES -P try.cmake
cmake_minimum_required(VERSION 3.19)
set(VCPKG_TARGET_ARCHITECTURE x64)
set(VCPKG_LIBRARY_LINKAGE ${LINKAGE})
set(TARGET_TRIPLET x64-linux)
set(PORT toolglot)
set(CURRENT_PACKAGES_DIR "${OUT}/packages")
set(CURRENT_BUILDTREES_DIR "${OUT}/buildtrees")

# The build is the one that is there.
function(vcpkg_execute_build_process)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "WORKING_DIRECTORY;LOGNAME" "COMMAND")
  if(NOT EXISTS "${arg_WORKING_DIRECTORY}/Cargo.toml")
    message(FATAL_ERROR "no sources in ${arg_WORKING_DIRECTORY}")
  endif()
  file(MAKE_DIRECTORY "${work}/${target}")
  file(CREATE_LINK "${BUILT}" "${work}/${target}/release" SYMBOLIC)
endfunction()

function(vcpkg_execute_required_process)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "WORKING_DIRECTORY;LOGNAME" "COMMAND")
  execute_process(COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${arg_WORKING_DIRECTORY}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  foreach(one IN LISTS arg_FILE_LIST)
    if(NOT EXISTS "${one}")
      message(FATAL_ERROR "no licence ${one}")
    endif()
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

file(REMOVE_RECURSE "${OUT}")
include("${CMAKE_CURRENT_LIST_DIR}/toolglot/portfile.cmake")
