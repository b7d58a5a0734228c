# SPDX-License-Identifier: Apache-2.0
"""What the scripts that measure on a CUDA device share: torch's clock, modes and errors."""
import contextlib
import subprocess
import time

import torch


def timed(function, warm_seconds):
    """A contender: the device's seconds of one call, after the function itself has settled the device's clock."""
    def sample():
        start = time.perf_counter()
        calls = 0
        while time.perf_counter() - start < warm_seconds or calls == 0:
            function()
            calls += 1
            torch.cuda.synchronize()
        calls = max(1, calls // 4)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            function()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3 / calls

    return sample


@contextlib.contextmanager
def tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def norm_error(c, exact):
    return float(f"{(torch.linalg.norm(c.double() - exact) / torch.linalg.norm(exact)).item():.3g}")


def driver():
    return subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                          text=True, check=True).stdout.split()[0]


def device():
    """As a file of results/ has it."""
    return {"name": torch.cuda.get_device_name(), "kind": "gpu"}


def software():
    return {"driver": driver(), "CUDA": str(torch.version.cuda), "torch": torch.__version__}
