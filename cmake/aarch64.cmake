# SPDX-License-Identifier: Apache-2.0
# For AArch64 with Debian's cross compiler (package g++-aarch64-linux-gnu); tests run under qemu-user. Nothing else of
# that architecture is needed: Highway and fmt are headers here, GoogleTest is built from its source.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
# This machine's, of which nothing but the place of the headers is used.
file(GLOB fmt_DIR /usr/lib/*/cmake/fmt)
