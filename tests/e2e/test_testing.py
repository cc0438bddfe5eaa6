# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tilewright.testing without a GPU: comparing and reports."""

import numpy as np
import pytest

from tilewright import testing
from tilewright.runtime import timing


def test_assert_close():
    testing.assert_close(np.ones(3), np.ones(3) + 0.009)
    with pytest.raises(AssertionError):
        testing.assert_close(np.ones(3), np.ones(3) + 0.011)
    with pytest.raises(AssertionError):
        testing.assert_close(np.full(3, 100.0), np.full(3, 100.5))  # no relative tolerance by default
    testing.assert_close(np.full(3, 100.0), np.full(3, 100.5), rtol=0.01)
    testing.assert_close(np.array([np.nan]), np.array([np.nan]))
    testing.assert_close(np.float32(1), [1.0])
    with pytest.raises(AssertionError, match="the message"):
        testing.assert_close(1.0, 2.0, err_msg="the message")
    testing.assert_close(np.ones(2, np.float16), np.ones(2) + 0.3, atol=lambda dtype: 0.5 if dtype == np.float16 else 0)


def test_assert_close_small_types():
    import ml_dtypes

    a = np.array([1, 2], ml_dtypes.bfloat16)
    testing.assert_close(a, np.array([1.0, 2.0]))
    with pytest.raises(AssertionError):
        testing.assert_close(a, np.array([1.0, 3.0]))


def test_quantiles():
    values = [4.0, 1.0, 3.0, 2.0]
    for q in (0.0, 0.2, 0.5, 0.8, 1.0):
        assert timing._quantile(values, q) == pytest.approx(np.quantile(values, q))


@pytest.mark.parametrize("result", [lambda n, scale: n * scale, lambda n, scale: (n * scale, n, n * 3)])
def test_report(tmp_path, capsys, result):
    bench = testing.Benchmark(
        x_names=["n"],
        x_vals=[1, 2, 4],
        line_arg="provider",
        line_vals=["a", "b"],
        line_names=["First", "Second"],
        plot_name="speed",
        args={"scale": 2},
        ylabel="GB/s",
        styles=[("blue", "-"), ("green", "--")],
    )

    @testing.perf_report(bench)
    def measure(n, provider, scale):
        return result(n, scale) if provider == "a" else float(n)

    table = measure.run(print_data=True, save_path=str(tmp_path), return_df=True)
    assert list(table.columns) == ["n", "First", "Second"]
    lines = (tmp_path / "speed.csv").read_text().splitlines()
    assert lines[0] == "n,First,Second" and lines[3] == "4,8,4.0"
    assert "speed.png" in (tmp_path / "results.html").read_text()
    assert "speed:" in capsys.readouterr().out
    matplotlib = pytest.importorskip("matplotlib")
    assert matplotlib and (tmp_path / "speed.png").stat().st_size > 1000


def test_report_over_pairs():
    bench = testing.Benchmark(["m", "k"], [(1, 2), (3, 4)], "line", [1], ["one"], "", {})
    table = testing.perf_report([bench])(lambda m, k, line: m * k).run(return_df=True)[0]
    rows = table.values.tolist() if hasattr(table, "values") and not callable(table.values) else table.rows
    assert [list(map(int, row)) for row in rows] == [[1, 2, 2], [3, 4, 12]]
