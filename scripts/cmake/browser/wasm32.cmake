# Toolchain for browsers: Debian's clang-19 and lld-19 with the C and C++ library of npm's
# @yowasp/clang. RETRYSIM_SYSROOT is the folder that its archive has been unpacked to.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(llvm_bin /usr/lib/llvm-19/bin)
set(CMAKE_C_COMPILER ${llvm_bin}/clang)
set(CMAKE_CXX_COMPILER ${llvm_bin}/clang++)
set(CMAKE_C_COMPILER_TARGET wasm32-wasip1)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasip1)
set(CMAKE_SYSROOT ${RETRYSIM_SYSROOT})
# There is nothing to link a trial program with before the exceptions have been compiled.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RETRYSIM_SYSROOT)
