# An overlay port: it builds the tree that it lies in. A registry's port takes a released archive instead.
get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
# Rust has one kind of release library, which serves a debug build too.
set(VCPKG_BUILD_TYPE release)

find_program(CARGO cargo REQUIRED)
find_program(BASH bash REQUIRED)

if(VCPKG_TARGET_IS_MINGW)
  set(system pc-windows-gnu)
elseif(VCPKG_TARGET_IS_WINDOWS)
  set(system pc-windows-msvc)
elseif(VCPKG_TARGET_IS_OSX)
  set(system apple-darwin)
else()
  set(system unknown-linux-gnu)
endif()
if(VCPKG_TARGET_ARCHITECTURE STREQUAL "arm64")
  set(target "aarch64-${system}")
else()
  set(target "x86_64-${system}")
endif()

set(work "${CURRENT_BUILDTREES_DIR}/${TARGET_TRIPLET}-rel")
vcpkg_execute_build_process(
  COMMAND "${CARGO}" build --release --locked -p toolglot-c --target "${target}" --target-dir "${work}"
  WORKING_DIRECTORY "${source}"
  LOGNAME "build-${TARGET_TRIPLET}")
vcpkg_execute_required_process(
  COMMAND "${BASH}" "${source}/bindings/c/install.sh" "${CURRENT_PACKAGES_DIR}" "${work}/${target}/release"
  WORKING_DIRECTORY "${source}"
  LOGNAME "install-${TARGET_TRIPLET}")

# One of the two kinds of library, with the rules for CMake where vcpkg looks for them.
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
  file(GLOB others "${CURRENT_PACKAGES_DIR}/lib/*.so*" "${CURRENT_PACKAGES_DIR}/lib/*.dylib" "${CURRENT_PACKAGES_DIR}/lib/*.dll*")
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/bin")
else()
  file(GLOB others "${CURRENT_PACKAGES_DIR}/lib/libtoolglot*.a" "${CURRENT_PACKAGES_DIR}/lib/toolglot.lib")
  list(FILTER others EXCLUDE REGEX "\\.dll\\.a$")
endif()
file(REMOVE ${others})
file(RENAME "${CURRENT_PACKAGES_DIR}/lib/cmake/toolglot" "${CURRENT_PACKAGES_DIR}/share/toolglot")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/cmake" "${CURRENT_PACKAGES_DIR}/share/licenses")
set(config "${CURRENT_PACKAGES_DIR}/share/toolglot/toolglot-config.cmake")
file(READ "${config}" text)
string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}/../../.." "\${CMAKE_CURRENT_LIST_DIR}/../.." text "${text}")
file(WRITE "${config}" "${text}")

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE-APACHE" "${source}/LICENSE-MIT")
vcpkg_fixup_pkgconfig()
