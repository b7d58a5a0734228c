# SPDX-License-Identifier: Apache-2.0
"""Wheels for an older glibc: what is linked with python/glibc/ asks for nothing newer, and works."""
import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "glibc"
SOURCE = """
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <thread>
extern "C" int size_of(const char* file) {
  int size = 0;
  std::thread([&] { size = static_cast<int>(std::filesystem::file_size(file)); }).join();
  try {
    static_cast<void>(std::filesystem::file_size(std::string(file) + ".not"));
  } catch (const std::exception&) {
    return dlsym(RTLD_DEFAULT, "malloc") == nullptr ? -1 : size;
  }
  return -2;
}
"""


@pytest.mark.skipif(shutil.which("c++") is None or shutil.which("readelf") is None, reason="there is no compiler")
def test_what_is_linked_with_stubs_needs_no_newer_glibc(tmp_path):
    stubs, library = tmp_path / "stubs", tmp_path / "library.so"
    subprocess.run([sys.executable, FOLDER / "stubs.py", "2.28", stubs], check=True)
    subprocess.run(["c++", "-c", "-fPIC", "-x", "c", FOLDER / "missing.c", "-o", tmp_path / "missing.o"], check=True)
    subprocess.run(["c++", "-std=c++20", "-c", "-fPIC", "-x", "c++", "-", "-o", tmp_path / "code.o"], check=True,
                   input=SOURCE, text=True)
    objects = [tmp_path / "code.o", tmp_path / "missing.o"]

    def linked(*options):
        subprocess.run(["c++", "-shared", *objects, "-o", library, *options], check=True)
        found = subprocess.run(["readelf", "-W", "--version-info", library], capture_output=True, text=True, check=True)
        return max(tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", found.stdout))

    assert linked() > (2, 28)  # as it is without
    strictly = "-Wl,--no-undefined,--gc-sections,--exclude-libs,ALL"
    assert linked("-static-libstdc++", f"-L{stubs}", strictly) <= (2, 28)
    assert ctypes.CDLL(str(library)).size_of(str(library).encode()) == library.stat().st_size
