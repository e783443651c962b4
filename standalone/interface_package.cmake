# Generates an interface package from message and service definitions:
#
#   generate_interface_package("<files>" <package the definitions refer to>...)

# The wheels were made on a machine whose Python lived elsewhere, and their exported targets still
# name its include folder. CMake refuses a target that names an absent folder: drop those.
function(drop_absent_include_directories)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target ${targets})
    if(target MATCHES "__rosidl_generator_py$")
      get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
      set(present)
      foreach(folder ${folders})
        if(EXISTS "${folder}")
          list(APPEND present "${folder}")
        endif()
      endforeach()
      set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${present}")
    endif()
  endforeach()
endfunction()

# Nodes in Python use the type supports for C. Those for C++ take more than half of the build's time.
macro(leave_out_cpp)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX
    "^rosidl_(generator|typesupport.*)_cpp:")
endmacro()

# The sources of a library all include the same large headers: together they compile in a fraction of
# the time. Only those with descriptions define the same names.
macro(compile_together)
  foreach(library rosidl_typesupport_fastrtps_c rosidl_typesupport_introspection_c
      rosidl_typesupport_c rosidl_generator_c rosidl_generator_py)
    if(TARGET ${PROJECT_NAME}__${library})
      set_target_properties(${PROJECT_NAME}__${library}
        PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 32)
    endif()
  endforeach()
  get_target_property(sources ${PROJECT_NAME}__rosidl_generator_c SOURCES)
  list(FILTER sources INCLUDE REGEX "__description\\.c$")
  set_property(SOURCE ${sources} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endmacro()

macro(generate_interface_package interfaces)
  # The code mostly calls other code: with more it would be as fast, and take a sixth longer to build.
  set(CMAKE_C_FLAGS_RELEASE "-O1 -DNDEBUG")
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
  find_package(ament_cmake REQUIRED)
  find_package(rosidl_default_generators REQUIRED)
  foreach(dependency ${ARGN})
    find_package(${dependency} REQUIRED)
  endforeach()
  leave_out_cpp()
  rosidl_generate_interfaces(${PROJECT_NAME} ${interfaces} DEPENDENCIES ${ARGN})
  compile_together()
  drop_absent_include_directories()
  ament_export_dependencies(rosidl_default_runtime)
  ament_package()
endmacro()
