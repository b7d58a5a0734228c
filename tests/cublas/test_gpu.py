# SPDX-License-Identifier: Apache-2.0
"""Programs of torch and CuPy, unchanged, on a GPU: every result lies within the stated bound of one formed in f64."""
import re

import pytest
from support import python


def why_not(module, has_device):
    try:
        return "" if has_device(__import__(module)) else f"{module} finds no GPU"
    except ImportError:
        return f"{module} is not installed"


no_torch = why_not("torch", lambda torch: torch.cuda.is_available())
no_cupy = why_not("cupy", lambda cupy: cupy.cuda.is_available())
needs_torch = pytest.mark.skipif(bool(no_torch), reason=f"no device: {no_torch}")
needs_cupy = pytest.mark.skipif(bool(no_cupy), reason=f"no device: {no_cupy}")

TORCH = """
import torch
torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = False
gpu = dict(device="cuda")
def near(got, a, b, added=None, activation=lambda x: x):
    # gamma_{k+3} (|A||B| + |what is added|), one rounding for each step behind the sum
    a, b = a.detach().double(), b.detach().double()
    k = a.shape[-1] + 3
    gamma = k * 2.0 ** -24 / (1 - k * 2.0 ** -24)
    exact, size = a @ b, a.abs() @ b.abs()
    if added is not None:
        exact, size = exact + added.double(), size + added.double().abs()
    error = (got.detach().double() - activation(exact)).abs()
    assert bool((error <= gamma * size).all()), (tuple(a.shape), tuple(b.shape), float((error / size).max() / gamma))
"""


def run(code, **settings):
    """The lines that the library said, of its own products and of those it forwarded."""
    done = python(code, EXACTILE_VERBOSE=1, **settings)
    lines = re.findall(r"^exactile: (.*)$", done.stderr, flags=re.M)
    return [line for line in lines if " kernel=" in line], [line for line in lines if " forwarded: " in line]


@needs_torch
def test_torch_products_of_all_shapes():
    ours, forwarded = run(TORCH + """
for m, n, k in ((1, 1, 1), (3, 5, 7), (64, 64, 64), (1, 4096, 4096), (4096, 1, 4096), (1000, 1000, 1000),
                (2047, 1025, 513), (1536, 2048, 1024), (2048, 2048, 2048), (256, 4096, 14336),
                (4097, 1023, 2049), (2048, 2048, 64)):
    a, b = torch.randn(m, k, **gpu), torch.randn(k, n, **gpu)
    near(a @ b, a, b)
    at, bt = torch.randn(k, m, **gpu).t(), torch.randn(n, k, **gpu).t()
    for left, right in ((at, b), (a, bt), (at, bt)):
        near(left @ right, left, right)
a, b = torch.randn(2100, 3000, **gpu)[50:, 100:2148], torch.randn(2200, 2500, **gpu)[:2048, 7:2055]  # blocks
near(a @ b, a, b)
out = torch.empty(2050, 4000, **gpu)[:, 11:2059]
torch.mm(a, b, out=out)
near(out, a, b)
c = torch.randn(2050, 2048, **gpu)
near(torch.addmm(c, a, b, beta=0.5, alpha=2), 2 * a, b, 0.5 * c)
""")
    assert any("m=2048 n=2048 k=2048" in line for line in ours) and len(ours) > 8
    assert all("no kernel is estimated to be faster" in line for line in forwarded), forwarded


@needs_torch
def test_torch_batches_layers_and_gradients():
    ours, forwarded = run(TORCH + """
for count, m, n, k in ((4, 1024, 1024, 1024), (64, 128, 128, 128), (8, 2048, 512, 768), (3, 33, 65, 17)):
    a, b = torch.randn(count, m, k, **gpu), torch.randn(count, k, n, **gpu)
    near(torch.bmm(a, b), a, b)
    near(a @ b[0], a, b[:1])
    near(torch.bmm(a, torch.randn(count, n, k, **gpu).transpose(1, 2).copy_(b)), a, b)
    c = torch.randn(count, m, n, **gpu)
    near(torch.baddbmm(c, a, b, beta=-1.5), a, b, -1.5 * c)
x, layer = torch.randn(2048, 3072, **gpu, requires_grad=True), torch.nn.Linear(3072, 1536, **gpu)
y = layer(x)
near(y, x, layer.weight.t(), layer.bias.detach())
gradient = torch.randn_like(y)
y.backward(gradient)
near(x.grad, gradient, layer.weight)
near(layer.weight.grad, gradient.t(), x)
near(torch._addmm_activation(layer.bias, x, layer.weight.t()), x, layer.weight.t(), layer.bias.detach(), torch.relu)
gelu = torch._addmm_activation(layer.bias, x, layer.weight.t(), use_gelu=True)  # by the tanh formula, which is cuBLAS's
assert torch.allclose(gelu, torch.nn.functional.gelu(y, approximate="tanh"), atol=1e-3)
first = layer(x)
assert all(torch.equal(layer(x), first) for _ in range(3))
""")
    assert any(line.startswith("cublasSgemmStridedBatched") for line in ours)
    assert any(line.startswith(("cublasLtMatmul", "cublasSgemm_v2")) for line in ours)


@needs_torch
def test_torch_graphs_and_streams():
    ours, forwarded = run(TORCH + """
n = 2048
layer = torch.nn.Linear(n, n, **gpu)
a, b = torch.randn(n, n, **gpu), torch.randn(n, n, **gpu)
def work():
    with torch.no_grad(): return layer(a @ b)
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side): work()
torch.cuda.current_stream().wait_stream(side)
graphs = []
for _ in range(2):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph): out = work()
    graphs.append((graph, out))
unseen = torch.cuda.CUDAGraph()
with torch.cuda.graph(unseen): late = a[:1792] @ b  # has never run: it is forwarded
for turn in range(3):
    a.normal_(); b.normal_()
    streams = [torch.cuda.Stream() for _ in graphs]
    for stream, (graph, out) in zip(streams, graphs):  # both at once, each with memory of its own
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream): graph.replay()
    unseen.replay()
    torch.cuda.synchronize()
    expected = work()
    for graph, out in graphs: assert torch.equal(out, expected)
    near(late, a[:1792], b)
pairs = [(torch.randn(3000, 3000, **gpu), torch.randn(3000, 3000, **gpu)) for _ in range(6)]
expected = [x @ y for x, y in pairs]
torch.cuda.synchronize()
streams = [torch.cuda.Stream() for _ in pairs]
for turn in range(5):
    out = []
    for stream, (x, y) in zip(streams, pairs):
        with torch.cuda.stream(stream): out.append(x @ y)
    torch.cuda.synchronize()
    assert all(torch.equal(x, y) for x, y in zip(out, expected))
""")
    assert any("it is captured, and has not run before" in line for line in forwarded)
    assert sum("m=3000 n=3000 k=3000" in line for line in ours) == 36


@needs_torch
def test_matmul_to_a_d_apart_from_c():
    ours, forwarded = run(TORCH + """
import ctypes, re
from ctypes import byref, c_float, c_int32, c_int64, c_size_t, c_uint64, c_void_p
a, b, c, d = (torch.randn(2048, 2048, **gpu) for _ in range(4))
before = c.clone()
a @ b  # loads cuBLAS
lt = ctypes.CDLL(re.search(r"/\\S*libcublasLt\\.so\\.\\d+", open("/proc/self/maps").read())[0])
handle, operation, layout = c_void_p(), c_void_p(), c_void_p()
assert lt.cublasLtCreate(byref(handle)) == 0
assert lt.cublasLtMatmulDescCreate(byref(operation), 68, 0) == 0
assert lt.cublasLtMatrixLayoutCreate(byref(layout), 0, c_uint64(2048), c_uint64(2048), c_int64(2048)) == 0
at = lambda matrix: c_void_p(matrix.data_ptr())
for _ in range(2):  # by columns, so B comes first
    status = ctypes.CDLL(None).cublasLtMatmul(
        handle, operation, byref(c_float(2)), at(b), layout, at(a), layout, byref(c_float(0.5)), at(c), layout, at(d),
        layout, None, None, c_size_t(0), c_void_p(torch.cuda.current_stream().cuda_stream))
    assert status == 0, status
    near(d, 2 * a, b, 0.5 * c)
assert torch.equal(c, before)
torch.cuda.synchronize()
assert ctypes.CDLL(None).cublasLtDestroy(handle) == 0
near(a @ b, a, b)
""")
    assert sum(line.startswith("cublasLtMatmul") for line in ours) == 2, forwarded


@needs_torch
def test_tf32_is_given_where_it_is_asked_for_and_the_switch_turns_all_off():
    product = TORCH + "a = torch.randn(2048, 2048, **gpu)\n"
    ours, forwarded = run(product + """
torch.backends.cuda.matmul.allow_tf32 = True
a @ a
torch.nn.functional.linear(a, a, a[0])
""")
    assert not ours and any("another math mode" in line for line in forwarded)
    ours, forwarded = run(product + "near(a @ a, a, a)", EXACTILE_CUBLAS=0)
    assert not ours and not forwarded


@needs_cupy
def test_cupy_products():
    ours, forwarded = run("""
import cupy
random = cupy.random.RandomState(1)
def near(got, a, b):
    k = a.shape[-1] + 3
    a, b = a.astype("d"), b.astype("d")
    gamma = k * 2.0 ** -24 / (1 - k * 2.0 ** -24)
    assert bool((abs(got - a @ b) <= gamma * (abs(a) @ abs(b))).all()), (a.shape, b.shape)
for shape in ((2048, 2048, 2048), (1000, 1000, 1000), (2047, 1025, 4000)):
    a, b = random.randn(*shape[::2]).astype("f"), random.randn(*shape[:0:-1]).astype("f")
    near(a @ b, a, b)
    near(b.T @ a.T, b.T, a.T)
a, b = random.randn(3, 1024, 1024).astype("f"), random.randn(3, 1024, 1024).astype("f")
near(a @ b, a, b)
with cupy.cuda.Stream(non_blocking=True) as stream:
    out = a[0] @ b[0]
stream.synchronize()
near(out, a[0], b[0])
""")
    if not ours and not forwarded:
        pytest.skip("this CuPy does not reach cuBLAS by the loader")
    assert any("m=2048 n=2048 k=2048" in line for line in ours)

