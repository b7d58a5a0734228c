#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stubs.py VERSION FOLDER: the C library that an older Linux has, for the linker.

A wheel runs where glibc is as old as the symbols that it asks for, and the linker asks for the newest. This makes
libraries without code whose symbols are this system's in the newest version that is not above VERSION (glibc keeps all
that it ever had), so that what is linked with them asks for those. What glibc lacked then is in missing.c.
"""
import re
import subprocess
import sys
from pathlib import Path

# Libraries that glibc 2.34 made part of libc, and what of it was theirs.
MERGED = {"libpthread.so.0": r"_?_?pthread_|sem_", "libdl.so.2": r"dl(a|c|e|i|m|o|s|v)",
          "librt.so.1": r"shm_|mq_|aio_|lio_|timer_"}
LINE = re.compile(r"(FUNC|IFUNC|OBJECT)\s+(?:GLOBAL|WEAK)\s+DEFAULT\s+\d+\s+(\w+)@@?GLIBC_([\d.]+)$", re.M)


def number(version):
    return tuple(map(int, version.split(".")))


def path_of(library):
    return subprocess.run(["c++", f"-print-file-name={library}"], capture_output=True, text=True,
                          check=True).stdout.strip()


def symbols_of(library, newest):
    """{name: (kind, version)} of an installed library."""
    listing = subprocess.run(["readelf", "-W", "--dyn-syms", path_of(library)], capture_output=True, text=True,
                             check=True)
    found = {}
    for kind, name, version in LINE.findall(listing.stdout):
        if number(version) <= newest and (name not in found or number(version) > number(found[name][1])):
            found[name] = (kind, version)
    return found


def write(library, symbols, folder):
    text = "".join(f".globl {name}\n.type {name},@{'object' if kind == 'OBJECT' else 'function'}\n{name}:\n"
                   for name, (kind, _) in symbols.items())
    versions = sorted({version for _, version in symbols.values()}, key=number)
    script = "".join(f"GLIBC_{v} {{ {' '.join(f'{name};' for name, (_, mine) in symbols.items() if mine == v)} }};\n"
                     for v in versions)
    stem = folder / library.split(".")[0]
    stem.with_suffix(".s").write_text(f".data\n{text}.byte 0\n", encoding="utf-8")
    stem.with_suffix(".map").write_text(script, encoding="utf-8")
    subprocess.run(["c++", "-shared", "-nostdlib", f"-Wl,-soname,{library},--version-script={stem}.map", f"{stem}.s",
                    "-o", folder / library], check=True)


def main():
    version, folder = number(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    libc = symbols_of("libc.so.6", version)
    for library, mine in MERGED.items():
        write(library, {name: libc.pop(name) for name in list(libc) if re.match(mine, name)}, folder)
    write("libc.so.6", libc, folder)
    write("libm.so.6", symbols_of("libm.so.6", version), folder)
    # What -lm and -lc find: the C++ library, which comes before -lc, needs all of them.
    (folder / "libm.so").write_text(f"GROUP({folder.resolve()}/libm.so.6)\n", encoding="utf-8")
    parts = " ".join(f"{folder.resolve()}/{library}" for library in ("libc.so.6", *MERGED))
    parts += f" {path_of('libc_nonshared.a')}"
    (folder / "libc.so").write_text(f"GROUP({parts} AS_NEEDED(/lib64/ld-linux-x86-64.so.2))\n", encoding="utf-8")


if __name__ == "__main__":
    main()
