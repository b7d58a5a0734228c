# SPDX-License-Identifier: Apache-2.0
"""Products that are done many times, and why they are done as they are."""
from typing import Any

from . import _exactile
from ._general import product_types
from ._libraries import Library, library_of


class Explanation:
    """What the planner chose and why: plain text in a terminal, a table in a notebook, a dict as `.data`."""

    def __init__(self, data: dict[str, Any], text: str) -> None:
        self.data = data
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        from html import escape

        def row(cells: list[str], tag: str = "td", style: str = "") -> str:
            return f"<tr{style}>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        d = self.data
        title = f"{d['types']} {d['m']} x {d['n']} x {d['k']}" + (f", {d['batch']} of them" if d["batch"] != 1 else "")
        rows = [row([c["kernel"], c["backend"], f"{c['cost_seconds']:.3g}" if c["supported"] else "", c["reason"]],
                    style=' style="font-weight:bold"' if c["chosen"] else "") for c in d["candidates"]]
        head = row(["kernel", "backend", "estimated seconds", "reason"], "th")
        return f"<table><caption>{escape(title)}</caption><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


class Plan:
    """A product whose kernel, blocking and threads are settled, for arrays that lie as `a` and `b` do.

    Parameters
    ----------
    a, b : array
        Of the shapes, types and strides that the products will have; their elements do not matter.
    dtype, accuracy, backend, threads, reproducible
        As matmul() has them; the result is of the type that matmul() would return, or the one that sums for integers
        of less than 32 bits.
    kernel, parameters : str
        A kernel's name, as kernels() lists them, and sizes of a tunable one; "" leaves both to the planner.

    A plan can be called from many threads at once, with different `out`.
    """

    def __init__(self, a: Any, b: Any, *, dtype: Any = None, accuracy: str = "standard", backend: str = "auto",
                 threads: int | None = None, kernel: str = "", parameters: str = "",
                 reproducible: bool = False) -> None:
        library = library_of(a, b)
        with library:
            a, b = library.array(a, "a"), library.array(b, "b")
            self._types = product_types(library, a, b, None, dtype, backend)
            view_a = library.view(library.convert(a, self._types.inputs))
            view_b = library.view(library.convert(b, self._types.inputs_b))
            self._shape = _exactile.matmul_shape(view_a, view_b)
            out = library.view(library.empty(self._shape, self._types.computed, a))
            self._options: dict[str, Any] = {"accuracy": accuracy, "backend": backend, "threads": threads,
                                             "reproducible": reproducible}
            self._plan = _exactile.ViewPlan(view_a, view_b, out, kernel=kernel, parameters=parameters, **self._options)

    def __call__(self, a: Any, b: Any, *, out: Any = None, alpha: Any = 1, beta: Any = 0) -> Any:
        """alpha * a @ b + beta * out. Raises ValueError where an operand lies otherwise than the plan's."""
        done = self._plan.straight(a, b, out, alpha, beta)
        if done is not None:
            return done
        library = library_of(*(x for x in (a, b) if not isinstance(x, Prepared)))
        with library:
            a, operand_a = self._operand(library, a, "a")
            b, operand_b = self._operand(library, b, "b")
            like = b if a is None else a
            if out is None and beta != 0:
                raise ValueError("beta is given without out, the array that it scales")
            target = library.empty(self._shape, self._types.computed, like) if out is None else out
            self._plan.run(operand_a, operand_b, library.view(target), alpha, beta, library.stream(like))
            return library.finish(target) if out is None else out

    def _inputs_of(self, operand: str) -> str:
        return self._types.inputs_b if operand == "b" else self._types.inputs

    def _operand(self, library: Library, given: Any, name: str) -> tuple[Any, Any]:
        if isinstance(given, Prepared):
            return None, given._form
        array = library.convert(library.array(given, name), self._inputs_of(name))
        return array, library.view(array)

    def prepare(self, operand: str, array: Any) -> "Prepared":
        """Brings operand "a" or "b" once into the form that this plan's kernel reads.

        What is answered takes the array's place in calls, which leave the same bits, sooner. The array's elements must
        stay as they are meanwhile.
        """
        library = library_of(array)
        with library:
            array = library.convert(library.array(array, operand), self._inputs_of(operand))
            form = self._plan.prepare(operand, library.view(array), library.stream(array))
        kernel = self._plan.summary()["kernel"]
        return Prepared(array, form, self._types.inputs,
                        {**self._options, "dtype": self._types.computed, "kernel": kernel})

    def explain(self) -> Explanation:
        """Which kernel runs, how, and why each other one refused or lost."""
        return Explanation(self._plan.summary(), self._plan.text())

    def __repr__(self) -> str:
        d = self._plan.summary()
        return f"<exactile.Plan {d['types']} {d['m']} x {d['n']} x {d['k']}: {d['kernel'] or 'nothing to do'}>"


class Prepared:
    """A matrix in the form that a kernel reads; Plan.prepare() and prepare() make it. `x @ prepared` multiplies."""

    __array_ufunc__ = None  # x @ prepared is __rmatmul__'s, whatever NumPy thinks of this object

    def __init__(self, array: Any, form: _exactile.PreparedView, inputs: str,
                 options: dict[str, Any]) -> None:
        self._array = array
        self._form = form
        self._inputs = inputs  # the type of what it meets
        self._options = options
        self._plans: dict[Any, Plan] = {}

    @property
    def nbytes(self) -> int:
        """The memory that it holds; 0 where the kernel reads the elements themselves."""
        return self._form.bytes

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self._form.view.shape

    def __rmatmul__(self, x: Any) -> Any:
        """x @ the prepared matrix, for x of shape (..., k); of a stack, all rows in one product."""
        library = library_of(x)
        x = library.array(x, "a")
        rows = x if len(x.shape) == 2 else x.reshape((-1, x.shape[-1]))
        view = library.view(library.convert(rows, self._inputs))
        key = (view.shape, view.strides)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = Plan(rows, self._array, **self._options)
        result = plan(rows, self)
        return result if rows is x else result.reshape((*x.shape[:-1], self.shape[-1]))


def prepare(b: Any, *, rows: int, dtype: Any = None, accuracy: str = "standard", backend: str = "auto",
            threads: int | None = None, reproducible: bool = False) -> Prepared:
    """Brings weights once into the form that the kernel reads which suits inputs of `rows` rows.

    `x @ prepare(b, rows=32)` is matmul(x, b) by that kernel, sooner; x may have any number of rows. The elements of b
    must stay as they are as long as the answer is used.
    """
    if not hasattr(rows, "__index__"):
        raise TypeError(f"rows: expected an integer, not {type(rows).__name__}")
    library = library_of(b)
    with library:
        b = library.array(b, "b")
        like = library.empty((rows, b.shape[-2]), library.name(b), b)
        plan = Plan(like, b, dtype=dtype, accuracy=accuracy, backend=backend, threads=threads,
                    reproducible=reproducible)
        return plan.prepare("b", b)


def explain(a: Any, b: Any, **options: Any) -> Explanation:
    """Which kernel multiplies these arrays, and why each other one refused or lost. The options are those of Plan."""
    return Plan(a, b, **options).explain()
