# SPDX-License-Identifier: Apache-2.0
"""JAX's arrays and exactile.jax; run where JAX is installed, on its default device."""
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402

import exactile  # noqa: E402
import exactile.jax as ours  # noqa: E402


def array(*shape, dtype="float32", seed=0):
    key = jax.random.key(seed + sum(shape))
    if jnp.issubdtype(dtype, jnp.integer):
        return jax.random.randint(key, shape, 0, 100).astype(dtype)
    return jax.random.normal(key, shape, "complex64" if dtype == "complex64" else "float64").astype(dtype)


def close(mine, theirs):
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
    np.testing.assert_allclose(np.asarray(mine).astype(complex), np.asarray(theirs).astype(complex), rtol=2e-2
                               if mine.dtype.itemsize == 2 else 1e-4, atol=1e-2)


def test_matmul_of_jax_arrays():
    c = exactile.matmul(array(3, 4), array(4, 5))
    assert isinstance(c, jax.Array) and c.devices() == array(3, 4).devices()
    close(c, array(3, 4) @ array(4, 5))
    close(exactile.matmul(array(3, 4), np.asarray(array(4, 5))), array(3, 4) @ array(4, 5))
    assert exactile.matmul(array(3, 4, dtype="bfloat16"), array(4, 5)).dtype == jnp.float32
    with pytest.raises(TypeError, match="is being traced"):
        jax.jit(lambda a, b: exactile.matmul(a, b))(array(3, 4), array(4, 5))
    with pytest.raises(TypeError, match="out is of type|never written to"):
        exactile.matmul(array(3, 4), array(4, 5), out=array(3, 5))
    assert exactile.verify(array(3, 4), array(4, 5), c)
    assert exactile.error_bound(array(3, 4), array(4, 5)).shape == (3, 5)


@pytest.fixture(params=["matmul", "as on a GPU"])
def matmul(request, monkeypatch):
    """exactile.matmul(), and what it becomes for arrays on a GPU, which works on any device."""
    if request.param != "matmul":
        from exactile import _jax

        there = _jax.Jax.__init__

        def on_gpu(self, array):
            there(self, array)
            self.own_matmul = self._matmul

        monkeypatch.setattr(_jax.Jax, "__init__", on_gpu)
    return exactile.matmul


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int32", "uint8", "complex64"])
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5))], ids=str)
def test_what_follows_a_product(matmul, shapes, dtype):
    a, b = (array(*shape, dtype=dtype) for shape in shapes)
    close(matmul(a, b, alpha=2), (2 * (a @ b)).astype(dtype))
    if len(shapes[1]) == 2:
        bias = array(5, dtype=dtype)
        close(matmul(a, b, bias=bias), a @ b + bias)
    if dtype in ("float32", "bfloat16") and len(shapes[0]) > 1 and len(shapes[1]) > 1:
        bias, rows, columns = array(3, 1, dtype=dtype), array(3), array(5)
        wide = rows[:, None] * (a.astype("float32") @ b.astype("float32")) * columns + bias
        for activation, function in ((None, lambda x: x), ("relu", jax.nn.relu),
                                     ("gelu", lambda x: jax.nn.gelu(x, approximate=False))):
            c = matmul(a, b, bias=bias, row_scales=rows, column_scales=columns, activation=activation)
            close(c, function(wide).astype(dtype))


def test_refusals_of_what_follows(matmul):
    a, b = array(3, 4), array(4, 5)
    for keywords, error in (({"row_scales": array(4)}, ValueError), ({"bias": array(3)}, ValueError),
                            ({"activation": "tanh"}, ValueError), ({"backend": "tpu"}, ValueError),
                            ({"beta": 1}, (TypeError, ValueError))):
        with pytest.raises(error):
            matmul(a, b, **keywords)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "complex64", "int64", "int32", "uint8"])
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
                                    ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)),
                                    ((0, 4), (4, 5))], ids=str)
def test_product(shapes, dtype):
    a, b = (array(*shape, dtype=dtype) for shape in shapes)
    close(ours.matmul(a, b), a @ b)
    close(jax.jit(ours.matmul)(a, b), a @ b)


def test_wider_results():
    a, b = array(3, 40, dtype="bfloat16"), array(40, 5, dtype="bfloat16")
    close(ours.matmul(a, b, dtype="float32"), jnp.matmul(a, b, preferred_element_type="float32"))
    a, b = array(3, 40).astype("float8_e4m3fn"), array(40, 5).astype("float8_e4m3fn")
    close(ours.matmul(a, b), jnp.matmul(a.astype("float32"), b.astype("float32")))


def test_vmap():
    a, b = array(6, 3, 4), array(6, 4, 5)
    close(jax.vmap(ours.matmul)(a, b), a @ b)
    close(jax.vmap(ours.matmul, (0, None))(a, b[0]), a @ b[0])
    close(jax.vmap(ours.matmul, (None, 0))(a[0], b), a[0] @ b)
    close(jax.vmap(ours.matmul, (1, 2), 1)(a, array(4, 5, 3)),
          jax.vmap(jnp.matmul, (1, 2), 1)(a, array(4, 5, 3)))
    nested = jax.vmap(jax.vmap(ours.matmul, (0, None)), (None, 0))
    close(nested(a, b), jax.vmap(jax.vmap(jnp.matmul, (0, None)), (None, 0))(a, b))


@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((4,), (4, 5)),
                                    ((2, 1, 3, 4), (6, 4, 5))], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "complex64", "bfloat16"])
def test_gradients(shapes, dtype):
    a, b = (array(*shape, dtype=dtype) for shape in shapes)

    def loss(product):
        return lambda a, b: jnp.abs(product(a, b).astype("complex64")).sum()

    for mine, theirs in zip(jax.jit(jax.grad(loss(ours.matmul), (0, 1)))(a, b),
                            jax.grad(loss(jnp.matmul), (0, 1))(a, b)):
        close(mine, theirs)
    if a.ndim == 2 and b.ndim == 2:
        per_example = jax.vmap(jax.grad(loss(ours.matmul), 1), (0, None))
        close(per_example(a, b), jax.vmap(jax.grad(loss(jnp.matmul), 1), (0, None))(a, b))


def test_refusals():
    with pytest.raises(ValueError, match="expected the last axis of a"):
        ours.matmul(array(3, 4), array(3, 4))
    with pytest.raises(ValueError, match="no dimensions"):
        ours.matmul(jnp.ones(()), array(3, 4))
    with pytest.raises(ValueError, match="accuracy = 'exact'"):
        ours.matmul(array(3, 4), array(4, 5), accuracy="exact")
