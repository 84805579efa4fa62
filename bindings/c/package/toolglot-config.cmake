# Targets: toolglot::shared, toolglot::static, and toolglot::isolated if it was installed (the static library with hidden
# Rust symbols, for linking with another Rust library).
get_filename_component(_toolglot_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET toolglot::shared)
  add_library(toolglot::shared SHARED IMPORTED)
  set_target_properties(toolglot::shared PROPERTIES
    IMPORTED_LOCATION "${_toolglot_prefix}/lib/libtoolglot.so"
    IMPORTED_SONAME "libtoolglot.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_toolglot_prefix}/include")

  set(_toolglot_static static)
  if(EXISTS "${_toolglot_prefix}/lib/libtoolglot_isolated.a")
    list(APPEND _toolglot_static isolated)
  endif()
  find_package(Threads REQUIRED)
  foreach(_toolglot_kind IN LISTS _toolglot_static)
    set(_toolglot_file libtoolglot.a)
    if(_toolglot_kind STREQUAL isolated)
      set(_toolglot_file libtoolglot_isolated.a)
    endif()
    add_library(toolglot::${_toolglot_kind} STATIC IMPORTED)
    set_target_properties(toolglot::${_toolglot_kind} PROPERTIES
      IMPORTED_LOCATION "${_toolglot_prefix}/lib/${_toolglot_file}"
      INTERFACE_INCLUDE_DIRECTORIES "${_toolglot_prefix}/include"
      INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
  endforeach()
endif()

unset(_toolglot_prefix)
