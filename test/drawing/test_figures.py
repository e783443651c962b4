"""How figures are made."""

import builtins

import pytest

import ik_service as iks
from ik_service.drawing import figures
from ik_service.exceptions import MissingExtraError


def test_each_method_has_a_colour_of_its_own():
    colors = [figures.method_color(name) for name in iks.solver_names()]
    assert len(set(colors)) == len(colors)


def test_a_sheet_is_written_in_the_style_and_the_style_ends_with_it(tmp_path):
    matplotlib = pytest.importorskip('matplotlib')
    before = matplotlib.rcParams['axes.spines.top']
    with figures.sheet(tmp_path / 'figure.png', 4.0, 3.0) as figure:
        assert not figure.subplots().spines['top'].get_visible()
    assert matplotlib.rcParams['axes.spines.top'] == before
    pixels = matplotlib.image.imread(tmp_path / 'figure.png').shape
    assert pixels[:2] == (3 * figures.DPI, 4 * figures.DPI)


def test_the_same_figure_is_the_same_file(tmp_path):
    pytest.importorskip('matplotlib')
    for name in ('a.png', 'b.png'):
        with figures.sheet(tmp_path / name, 4.0, 3.0) as figure:
            figure.subplots().plot([0, 1], [0, 1])
    assert (tmp_path / 'a.png').read_bytes() == (tmp_path / 'b.png').read_bytes()


def test_nothing_is_written_of_a_figure_that_fails(tmp_path):
    pytest.importorskip('matplotlib')
    with pytest.raises(ZeroDivisionError), figures.sheet(tmp_path / 'figure.png', 4.0, 3.0):
        raise ZeroDivisionError
    assert not (tmp_path / 'figure.png').exists()


def test_missing_matplotlib_is_named_with_its_extra(monkeypatch):
    original = builtins.__import__

    def refuse(name, *rest, **named):
        if name.split('.')[0] == 'matplotlib':
            raise ImportError(name)
        return original(name, *rest, **named)

    monkeypatch.setattr(builtins, '__import__', refuse)
    with pytest.raises(MissingExtraError, match=r'ik_service\[plot\]'):
        figures.check_installed()
