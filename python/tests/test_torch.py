# SPDX-License-Identifier: Apache-2.0
"""torch's tensors and exactile.torch; run where torch is installed, on its CUDA device too where there is one."""
import resource
import weakref

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import library  # noqa: E402

import exactile  # noqa: E402
import exactile.torch as ours  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
TYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex128, torch.complex64, torch.int64,
         torch.int32]

pytestmark = pytest.mark.parametrize("device", DEVICES)


def tensor(*shape, dtype=torch.float32, device="cpu", grad=False):
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=dtype, device=device).requires_grad_(grad)
    return torch.randint(0, 100, shape, dtype=dtype, device=device)


def close(ours_, theirs):
    assert ours_.dtype == theirs.dtype and ours_.device == theirs.device
    torch.testing.assert_close(ours_, theirs, rtol=2e-2 if ours_.element_size() == 2 else 1e-4, atol=1e-2)


@pytest.mark.parametrize("dtype", TYPES + [torch.int16, torch.uint8], ids=str)
def test_matmul_of_tensors(device, dtype):
    a, b = tensor(3, 20, 30, dtype=dtype, device=device), tensor(30, 40, dtype=dtype, device=device)
    c = exactile.matmul(a.mT.contiguous().mT, b)
    assert isinstance(c, torch.Tensor)
    close(c.cpu(), a.cpu() @ b.cpu())  # torch has no products of integers on a GPU
    assert exactile.matmul(a[0, 0], b[:, 0]).shape == ()


def test_results_are_tensors_of_their_own(device):
    shapes = [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((0, 4), (4, 5)),
              ((3, 4), (4, 5))]
    for dtype in (torch.float32, torch.int64, torch.float32, torch.bfloat16):
        for shape_a, shape_b in shapes:
            a, b = (torch.nn.Parameter(tensor(*s, dtype=dtype, device=device), requires_grad=False)
                    for s in (shape_a, shape_b))
            c, d = exactile.matmul(a, b), exactile.matmul(a, b)
            assert type(c) is torch.Tensor and c.is_contiguous() and not c.requires_grad
            assert c.numel() == 0 or c.data_ptr() != d.data_ptr()
            close(c, (a.cpu() @ b.cpu()).to(device))


def test_tensors_are_not_kept(device):
    a, b = tensor(64, 64, device=device), tensor(64, 64, device=device)
    kept = [exactile.matmul(a, b)]
    reference = weakref.ref(kept[0])
    kept.clear()
    assert reference() is None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20_000):
        exactile.matmul(a, b)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KB; all results would be 320 MB


def test_lazy_tensors(device):
    a = tensor(20, 30, dtype=torch.complex64, device=device).conj().imag
    assert a.is_neg()
    close(exactile.matmul(a, a.T), a @ a.T)
    weight = torch.nn.Parameter(tensor(20, 30, device=device))
    with torch.no_grad():
        close(exactile.matmul(weight, weight.T), weight @ weight.T)
    with pytest.raises(ValueError, match="requires a gradient"):
        exactile.matmul(weight, weight.T)


def test_matmul_of_narrow_types(device):
    a, b = tensor(20, 30, device=device), tensor(30, 40, device=device)
    for narrow in (torch.float8_e4m3fn, torch.float8_e5m2):
        c = exactile.matmul(a.to(narrow), b.to(narrow))
        close(c, a.to(narrow).float() @ b.to(narrow).float())
        assert exactile.matmul(a.to(narrow), b.to(narrow), dtype=torch.bfloat16).dtype == torch.bfloat16
    half = exactile.matmul(a.bfloat16(), b.bfloat16(), dtype=torch.float32)
    close(half, a.bfloat16().float() @ b.bfloat16().float())
    out = torch.empty(20, 40, device=device)
    assert exactile.matmul(a.bfloat16(), b.bfloat16(), out=out) is out
    assert torch.equal(out, half)


@pytest.mark.parametrize("dtype, result", [(torch.int8, torch.int32), (torch.uint8, torch.int32),
                                           (torch.int8, torch.int8), (torch.int16, torch.int16)], ids=str)
def test_out_of_narrow_integers(device, dtype, result):
    low = 0 if dtype == torch.uint8 else -100
    a, b = (torch.randint(low, 100, shape, dtype=dtype, device=device) for shape in ((20, 30), (30, 40)))
    out = torch.empty(20, 40, dtype=result, device=device)
    assert exactile.matmul(a, b, out=out) is out
    assert torch.equal(out.cpu(), (a.cpu().long() @ b.cpu().long()).to(result))


def test_matmul_conjugates_and_out(device):
    a, b = tensor(20, 30, dtype=torch.complex64, device=device), tensor(20, 40, dtype=torch.complex64, device=device)
    close(exactile.matmul(a.mH, b), a.mH @ b)
    out = torch.empty(30, 40, dtype=torch.complex64, device=device)
    assert exactile.matmul(a.mH, b, out=out) is out
    close(out, a.mH @ b)
    with pytest.raises(ValueError, match="requires a gradient"):
        exactile.matmul(tensor(2, 2, device=device, grad=True), tensor(2, 2, device=device))
    with pytest.raises(TypeError, match="torch.dtype"):
        exactile.matmul(a.mH, b, dtype=float)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32], ids=str)
def test_out(device, dtype):
    a, b = tensor(20, 30, dtype=dtype, device=device), tensor(30, 40, dtype=dtype, device=device)
    exact = (a.cpu() @ b.cpu()).to(device)
    for out in (torch.empty(20, 40, dtype=dtype, device=device), torch.empty(40, 20, dtype=dtype, device=device).T,
                torch.empty(40, 80, dtype=dtype, device=device)[::2, ::2]):
        assert exactile.matmul(a, b, out=out) is out
        close(out, exact)
        assert exactile.matmul(a, b, out=out, alpha=2, beta=1) is out
        close(out, 3 * exact)
    wide = torch.empty(20, 40, dtype=torch.float64, device=device)
    assert exactile.matmul(a, b, out=wide) is wide
    close(wide, exact.double())
    with pytest.raises(ValueError, match="out has shape"):
        exactile.matmul(a, b, out=out.T)
    with pytest.raises(ValueError, match="beta is given without out"):
        exactile.matmul(a, b, beta=1)
    with pytest.raises(ValueError, match="shares memory"):
        exactile.matmul(b[:30, :30], b[:30, 10:], out=b[:30, :30])
    if dtype.is_floating_point:
        with pytest.raises(ValueError, match="read-only"):
            exactile.matmul(a, b, out=torch.empty(20, 40, dtype=dtype, device=device, requires_grad=True))


def test_bound_and_check_of_tensors(device):
    a, b = tensor(20, 30, dtype=torch.bfloat16, device=device), tensor(30, 40, dtype=torch.bfloat16, device=device)
    assert exactile.verify(a, b, exactile.matmul(a, b))
    assert exactile.error_bound(a, b).shape == (20, 40)


def test_plan_and_weights(device):
    a, b = tensor(20, 30, device=device), tensor(30, 40, device=device)
    plan = exactile.Plan(a, b)
    assert torch.equal(plan(a, b), exactile.matmul(a, b))
    close(exactile.prepare(b, rows=20).__rmatmul__(a), a @ b)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_operators(device, dtype):
    a, b, c = (tensor(*s, dtype=dtype, device=device) for s in ((4, 20, 30), (4, 30, 40), (20, 40)))
    close(ours.mm(a[0], b[0]), a.cpu()[0].matmul(b.cpu()[0]).to(device))
    close(ours.bmm(a, b), a.cpu().matmul(b.cpu()).to(device))
    if dtype.is_floating_point:
        close(ours.addmm(c, a[0], b[0], 0.5, 2), torch.addmm(c, a[0], b[0], beta=0.5, alpha=2))
        close(ours.addmm(c[0], a[0], b[0]), torch.addmm(c[0], a[0], b[0]))
        close(ours.linear(a, b[0].T, c[0]), torch.nn.functional.linear(a, b[0].T, c[0]))
        close(ours.linear(a, b[0].T), torch.nn.functional.linear(a, b[0].T))


def test_operators_refuse(device):
    with pytest.raises(ValueError, match="mm: b has shape"):
        ours.mm(tensor(2, 3, device=device), tensor(3, device=device))
    with pytest.raises(ValueError, match="mm: b is float64"):
        ours.mm(tensor(2, 3, device=device), tensor(3, 2, dtype=torch.float64, device=device))
    with pytest.raises(ValueError, match="expected the last axis of a, 3"):
        ours.mm(tensor(2, 3, device=device), tensor(2, 3, device=device))
    with pytest.raises(ValueError, match="bmm: a has 2 matrices"):
        ours.bmm(tensor(2, 3, 3, device=device), tensor(3, 3, 3, device=device))


def samples(device):
    real = [(ours.mm, (tensor(5, 6, device=device, grad=True), tensor(6, 7, device=device, grad=True))),
            (ours.mm, (tensor(6, 5, device=device).T, tensor(6, 7, device=device, grad=True), "reduced")),
            (ours.bmm, (tensor(3, 5, 6, device=device, grad=True), tensor(3, 6, 7, device=device, grad=True))),
            (ours.addmm, (tensor(7, device=device, grad=True), tensor(5, 6, device=device, grad=True),
                          tensor(6, 7, device=device, grad=True))),
            (ours.addmm, (tensor(5, 7, device=device, grad=True), tensor(5, 6, device=device, grad=True),
                          tensor(6, 7, device=device, grad=True), 0.5, 2.0))]
    return real + [(ours.mm, tuple(tensor(4, 4, dtype=torch.complex64, device=device, grad=True) for _ in "ab"))]


def test_opcheck(device):
    for operator, arguments in samples(device):
        library.opcheck(operator, arguments)


def test_gradients(device):
    def wide(*shape, complex=False):
        return tensor(*shape, dtype=torch.complex128 if complex else torch.float64, device=device, grad=True)

    torch.autograd.gradcheck(ours.mm, (wide(3, 4), wide(4, 2)))
    torch.autograd.gradcheck(ours.mm, (wide(3, 4, complex=True), wide(4, 2, complex=True)))
    torch.autograd.gradcheck(ours.bmm, (wide(2, 3, 4), wide(2, 4, 2)))
    torch.autograd.gradcheck(ours.addmm, (wide(3, 2), wide(3, 4), wide(4, 2), 0.5, 2.0))
    torch.autograd.gradcheck(ours.linear, (wide(2, 3, 4), wide(5, 4), wide(5)))
    torch.autograd.gradgradcheck(ours.mm, (wide(3, 4), wide(4, 2)))


@pytest.mark.parametrize("how", [{"backend": "aot_eager"}, {"mode": "reduce-overhead"}], ids=str)
def test_compile_without_a_break(device, how):
    if device == "cpu" and "mode" in how:
        pytest.skip("CUDA graphs are for CUDA devices, and a C++ compiler for the rest is not everywhere")

    def layer(x, weight, bias):
        return torch.relu(ours.linear(x, weight, bias)) @ ours.mm(weight, weight.T)

    x, weight, bias = (tensor(*s, device=device, grad=True) for s in ((6, 5, 8), (4, 8), (4,)))
    compiled = torch.compile(layer, fullgraph=True, **how)
    for _ in range(3):  # the second time a graph is captured, the third it is replayed
        close(compiled(x, weight, bias).clone(), layer(x, weight, bias))
    expected = torch.autograd.grad(layer(x, weight, bias).sum(), (x, weight, bias))
    for mine, theirs in zip(torch.autograd.grad(compiled(x, weight, bias).sum(), (x, weight, bias)), expected):
        close(mine, theirs)


def test_enabled_replaces_products(device, monkeypatch):
    calls = []
    product = ours._product
    monkeypatch.setattr(ours, "_product", lambda *a, **k: calls.append(1) or product(*a, **k))
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)).to(device)
    x = tensor(10, 8, device=device)
    expected = torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
    assert not calls
    with ours.enabled():
        gradients = torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
        assert len(calls) == 5  # two forwards; two of the weights and one of the inputs backwards
        close(tensor(3, 2, 5, device=device).matmul(tensor(3, 5, 6, device=device)).sum().new_zeros(()),
              torch.zeros((), device=device))
        assert len(calls) == 6
        tensor(3, 4, dtype=torch.float64, device=device) @ tensor(4, 5, dtype=torch.float64, device=device)
        assert len(calls) == 6
        with torch.no_grad():
            torch.baddbmm(*(tensor(2, 3, 3, device=device) for _ in "cab"))
        assert len(calls) == 7
    for mine, theirs in zip(gradients, expected):
        close(mine, theirs)
    model(x)
    assert len(calls) == 7
    with ours.enabled(torch.float64):
        tensor(3, 4, dtype=torch.float64, device=device) @ tensor(4, 5, dtype=torch.float64, device=device)
    assert len(calls) == 8


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_enabled_in_every_mode(device, monkeypatch, mode):
    calls = []
    product = ours._product
    monkeypatch.setattr(ours, "_product", lambda *a, **k: calls.append(1) or product(*a, **k))
    layer, x = torch.nn.Linear(8, 16).to(device), tensor(2, 5, 8, device=device)
    products = [lambda: layer(x), lambda: x @ layer.weight.T, lambda: torch.einsum("bik,jk->bij", x, layer.weight),
                lambda: torch.nn.functional.linear(x[0], layer.weight)]
    for count, function in enumerate(products, 1):
        with mode(), ours.enabled():
            mine = function()
            assert len(calls) == count
        close(mine.detach().clone(), function().detach())
    assert len(calls) == len(products)


def test_a_model_learns_the_same(device):
    def losses(block):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True).to(device)
        optimizer = torch.optim.SGD(layer.parameters(), 0.05)
        x, y = tensor(8, 6, 16, device=device), tensor(8, 6, 16, device=device)
        seen = []
        with block():
            for _ in range(30):
                loss = (layer(x) - y).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                seen.append(loss.item())
        return seen

    import contextlib

    theirs, mine = losses(contextlib.nullcontext), losses(ours.enabled)
    assert mine[-1] < mine[0]
    torch.testing.assert_close(torch.tensor(mine), torch.tensor(theirs), rtol=1e-4, atol=1e-5)


def test_streams(device):
    if device == "cpu":
        pytest.skip("there are no streams in host memory")
    a, b = tensor(2000, 2000, device=device), tensor(2000, 2000, device=device)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        c = ours.mm(a * 2, b)
    torch.cuda.current_stream().wait_stream(stream)
    close(c, 2 * a @ b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = ours.mm(a, b)
    graph.replay()
    close(captured, a @ b)
