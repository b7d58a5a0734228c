# SPDX-License-Identifier: Apache-2.0
"""Where the product goes: every place that will not do is refused, and nothing is left there."""
import ctypes
import os
import resource
import stat
import subprocess

import numpy as np
import pytest


@pytest.fixture
def operands(program):
    np.save(program.folder / "a.npy", np.ones((300, 300), "f4"))
    return ["multiply", "a.npy", "a.npy", "-o"]


def test_the_output_is_an_input(program, operands):
    folder = program.folder
    before = (folder / "a.npy").read_bytes()
    os.link(folder / "a.npy", folder / "hard.npy")
    os.symlink("a.npy", folder / "soft.npy")
    np.save(folder / "b.npy", np.ones((300, 300), "f4"))
    for name in ("a.npy", "./a.npy", f"../{folder.name}/a.npy", "hard.npy", "soft.npy"):
        program.refuses(*operands, name, code=2, says=[f"--output {name}", "same file as the input a.npy"])
    program.refuses("multiply", "a.npy", "b.npy", "-o", "b.npy", code=2, says="same file as the input b.npy")
    program.refuses("multiply", "a.npy", "a.npy", "--c", "b.npy", "--beta", "1", "-o", "b.npy", code=2,
                    says="same file as the input b.npy")
    assert (folder / "a.npy").read_bytes() == before


def test_places_that_cannot_be_written(program, operands):
    (program.folder / "folder").mkdir()
    program.refuses(*operands, "none/c.npy", code=2, says=["none/c.npy", "No such file"])
    program.refuses(*operands, "a.npy/c.npy", code=2, says=["a.npy/c.npy", "Not a directory"])
    program.refuses(*operands, "/proc/c.npy", code=2, says=["--output /proc/c.npy", "no file can be made"])
    program.refuses(*operands, "folder", code=2, says=["folder", "expected the name of a file"])
    program.refuses(*operands, "/dev/null", code=2, says=["/dev/null", "not a regular file"])
    program.refuses(*operands, "", code=2, says="--output")
    program.refuses(*operands[:-1], "--output=-", code=2, says=["--output -", "expected its name"])
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_link_to_nothing_yet(program, operands):
    (program.folder / "folder").mkdir()
    os.symlink("folder/later.npy", program.folder / "c.npy")
    program(*operands, "c.npy")
    assert (program.folder / "c.npy").is_symlink() and not (program.folder / "folder/later.npy").is_symlink()
    assert np.load(program.folder / "folder/later.npy").shape == (300, 300)


def test_a_replaced_file_keeps_its_permissions(program, operands):
    for mode in (0o600, 0o640):
        (program.folder / "c.npy").touch()
        (program.folder / "c.npy").chmod(mode)
        program(*operands, "c.npy")
        assert stat.S_IMODE((program.folder / "c.npy").stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("permitted,owner,mode", [(True, 12345, 0o600), (False, 0, 0o640)])
def test_a_replaced_file_keeps_its_owner(program, operands, permitted, owner, mode):
    """Or else its permissions are not kept narrower than a new file's."""
    def prepare():
        os.umask(0o027)
        if not permitted:
            drop_from_bounding_set, change_owner = 24, 0
            ctypes.CDLL(None).prctl(drop_from_bounding_set, change_owner, 0, 0, 0)

    file = program.folder / "c.npy"
    file.touch()
    file.chmod(0o600)
    os.chown(file, 12345, 12346)
    program(*operands, "c.npy", limits=prepare)
    status = file.stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (owner, mode)
    assert status.st_gid == (12346 if permitted else os.getegid())


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_file_without_permission(program, operands):
    (program.folder / "c.npy").touch(mode=0o444)
    program.refuses(*operands, "c.npy", code=2, says=["--output c.npy", "cannot be replaced", "Permission denied"])


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root; see the other test")
def test_a_folder_without_permission(program, operands):
    (program.folder / "locked").mkdir(mode=0o555)
    program.refuses(*operands, "locked/c.npy", code=2, says=["locked", "Permission denied"])


def test_a_file_size_limit(program, operands):
    limit = 100_000
    program.refuses(*operands, "c.npy", code=4, says=["--output c.npy", "File too large"],
                    limits=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))


def test_a_full_disk(program, operands):
    disk = program.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    try:
        program.refuses(*operands, "disk/c.npy", code=4, says=["--output disk/c.npy", "360 kB", "free"])
        assert list(disk.iterdir()) == []
        # What was there stays when the new one does not fit.
        (disk / "c.npy").write_bytes(b"older")
        program.refuses(*operands, "disk/c.npy", code=4, says="free")
        assert (disk / "c.npy").read_bytes() == b"older"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_empty_operand_with_a_huge_result(program):
    np.save(program.folder / "a.npy", np.zeros((2**40, 0), "f4"))
    np.save(program.folder / "b.npy", np.zeros((0, 2**30), "f4"))
    program.refuses("multiply", "a.npy", "b.npy", "-o", "c.npy", code=2, says="does not fit in 64 bits")
    np.save(program.folder / "a.npy", np.zeros((2**30, 0), "f4"))
    program.refuses("multiply", "a.npy", "b.npy", "-o", "c.npy", code=4, says=["cannot be stored", "free"])


def test_a_link_is_followed(program, operands):
    (program.folder / "elsewhere").mkdir()
    (program.folder / "elsewhere" / "real.npy").write_bytes(b"older")
    os.symlink("elsewhere/real.npy", program.folder / "c.npy")
    program(*operands, "c.npy")
    assert (program.folder / "c.npy").is_symlink()
    assert np.load(program.folder / "elsewhere" / "real.npy").shape == (300, 300)


def test_links_in_a_circle_are_refused(program, operands):
    os.symlink("there.npy", program.folder / "here.npy")
    os.symlink("here.npy", program.folder / "there.npy")
    program.refuses(*operands, "here.npy", code=2, says=["--output here.npy", "links"])
    assert (program.folder / "here.npy").is_symlink() and (program.folder / "there.npy").is_symlink()


def test_the_mode_is_the_usual_one(program, operands):
    program(*operands, "c.npy", limits=lambda: os.umask(0o027))
    assert stat.S_IMODE(os.stat(program.folder / "c.npy").st_mode) == 0o640


def test_long_and_odd_names(program, operands):
    for name in ("n" * 251 + ".npy", "with blank.npy", "ünïcode.npy", "-o.npy"):
        program(*operands[:-1], f"--output={name}")
        assert np.load(program.folder / name)[0, 0] == 300
    assert [path for path in program.folder.iterdir() if path.name.startswith(".")] == []


def test_a_name_that_is_too_long(program, operands):
    program.refuses(*operands, "n" * 252 + ".npy", code=2, says="the name has 256 bytes; expected at most 255")


def test_a_refused_kernel_leaves_nothing(program, operands):
    program.refuses(*operands, "c.npy", "--kernel", "none", code=2, says=["--kernel none", "is not known"])
    program.refuses(*operands, "c.npy", "--backend", "none", code=2, says=["--backend none", "cpu"])
    program.refuses(*operands, "c.npy", "--accuracy", "none", code=2, says=["--accuracy none", "standard"])
    program.refuses(*operands, "c.npy", "--accuracy", "correctly_rounded", "--kernel", "cpu_naive", code=2,
                    says="keeps no accuracy beyond standard")


@pytest.mark.parametrize("accuracy", ["reduced", "compensated", "correctly_rounded"])
def test_an_accuracy_is_kept_and_verified(program, operands, accuracy):
    assert program.json(*operands, "c.npy", "--accuracy", accuracy, "--verify")["accuracy"] == accuracy


def test_files_are_in_host_memory(program, operands):
    program.refuses(*operands, "c.npy", "--memory", "device", code=2, says="--memory")
    assert not (program.folder / "c.npy").exists()
