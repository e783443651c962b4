"""The program ik_study, and the figure of a robot."""

from contextlib import contextmanager
import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import ik_service as iks
from ik_service.cli.programs import ik_study
from ik_service.drawing import figures
from ik_service.exceptions import IkServiceError, MissingExtraError
from ik_service.extras.studies import program as study
from ik_service.extras.studies.arms import load_arm, manipulability
from ik_service.extras.studies.tables import read_csv, write_csv


def write_one(arguments):
    path = arguments.output / 'toy.csv'
    path.write_text(f'{arguments.size}\n')
    return [path]


@pytest.fixture
def toy(monkeypatch):
    """A registry of two studies that take no time; the second may be made to fail."""
    modules = {
        name: SimpleNamespace(
            SUMMARY=f'the summary of {name}',
            add_arguments=lambda parser: parser.add_argument('--size', type=int, default=3),
            run=write_one,
        )
        for name in ('one', 'two')
    }
    monkeypatch.setattr(study, 'STUDY_NAMES', ('one', 'two'))
    monkeypatch.setattr(study, 'load_study', modules.__getitem__)
    monkeypatch.setattr(figures, 'check_installed', lambda: None)
    return modules


@pytest.mark.parametrize('arguments', [[], ['--help'], ['-h'], ['all', '--help']])
def test_without_a_name_it_lists_the_studies_with_their_summaries(arguments, capsys):
    assert ik_study(arguments) == 0
    printed = capsys.readouterr().out
    for name in study.STUDY_NAMES:
        (line,) = [line for line in printed.splitlines() if line.split()[:1] == [name]]
        assert line.endswith(study.load_study(name).SUMMARY)
    assert '--output DIR' in printed


def test_unknown_study_lists_the_valid_ones(capsys):
    assert ik_study(['soch']) == 2
    complaint = capsys.readouterr().err
    assert "unknown study 'soch'" in complaint
    for name in study.STUDY_NAMES:
        assert name in complaint


def test_files_go_where_they_are_asked_for(toy, tmp_path, capsys):
    folder = tmp_path / 'new' / 'folder'
    assert ik_study(['one', '--output', str(folder), '--size', '7']) == 0
    assert (folder / 'toy.csv').read_text() == '7\n'
    assert str(folder / 'toy.csv') in capsys.readouterr().out


def test_all_goes_on_after_a_study_that_fails_and_says_so(toy, tmp_path, capsys):
    def fail(_):
        raise IkServiceError('no such luck')

    toy['one'].run = fail
    assert ik_study(['all', '--output', str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert 'ik_study one: no such luck' in captured.err
    assert (tmp_path / 'toy.csv').is_file()


def test_an_option_that_a_study_does_not_have_is_refused(toy, capsys):
    with pytest.raises(SystemExit) as ending:
        ik_study(['one', '--colour', 'red'])
    assert ending.value.code == 2
    assert '--colour' in capsys.readouterr().err


def test_an_option_that_not_all_studies_have_is_refused_for_all(toy, capsys):
    with pytest.raises(SystemExit):
        ik_study(['all', '--size', '7'])
    assert "ik_study all: error: there is no option '--size'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['--urdf', 'none.urdf'], "file 'none.urdf': cannot be read"),
        (['--compare', 'none.urdf'], "file 'none.urdf': cannot be read"),
        (['--tip-link', 'nose'], "unknown link 'nose'"),
        (['--base-link', 'panda_hand_tcp'], 'no joint moves'),
        (['--points', '3000'], '--points: 3,000'),
        (['--urdf', __file__], f'file {__file__!r}: line '),
    ],
)
def test_a_wrong_command_is_refused_with_exit_code_2(words, message, tmp_path, capsys):
    pytest.importorskip('matplotlib')
    assert ik_study(['reach', *words, '--output', str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ('name', 'option'), [('convergence', '--poses'), ('paths', '--legs'), ('reach', '--searches')]
)
def test_counts_beyond_all_time_and_memory_are_refused(name, option, capsys):
    pytest.importorskip('matplotlib')
    with pytest.raises(SystemExit):
        ik_study([name, option, str(10**22)])
    assert f'{option}: {str(10**22)!r} is no whole number of at' in capsys.readouterr().err


def test_a_file_in_place_of_the_folder_is_reported(toy, tmp_path, capsys):
    (tmp_path / 'taken').write_text('')
    for folder in (tmp_path / 'taken', tmp_path / 'taken' / 'in'):
        assert ik_study(['one', '--output', str(folder)]) == 2
        assert f'--output: {str(folder)!r} is no folder' in capsys.readouterr().err


def test_without_matplotlib_it_says_how_to_get_it_before_computing(toy, monkeypatch, capsys):
    def missing():
        raise MissingExtraError('matplotlib', 'plot')

    monkeypatch.setattr(figures, 'check_installed', missing)
    toy['one'].run = lambda _: pytest.fail('it computed first')
    assert ik_study(['one']) == 1
    assert "pip install 'ik_service[plot]'" in capsys.readouterr().err


def test_ctrl_c_ends_it(toy, tmp_path, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    toy['one'].run = interrupt
    assert ik_study(['one', '--output', str(tmp_path)]) == 130


@pytest.mark.parametrize('name', study.STUDY_NAMES)
def test_every_study_has_the_interface_of_a_study(name):
    module = study.load_study(name)
    assert module.SUMMARY
    assert '\n' not in module.SUMMARY
    study._parse(name, [])  # with its defaults alone it can be run
    assert callable(module.run)


def test_reachable_points_are_shown_in_rviz(tmp_path, monkeypatch, capsys):
    pytest.importorskip('matplotlib')
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')

    @contextmanager
    def published(frame_id, points, colors, on_shell, spacing):
        shown.update(frame=frame_id, points=points, colors=colors, on_shell=on_shell)
        monkeypatch.setattr('threading.Event.wait', interrupted)
        yield '/reachable_shell'

    def interrupted(_event):
        raise KeyboardInterrupt

    shown = {}
    monkeypatch.setattr('ik_service.extras.reach.cloud_publisher.published_cloud', published)
    words = ['--points', '4', '--orientations', '2', '--searches', '5', '--publish']
    assert ik_study(['reach', *words, '--output', str(tmp_path)]) == 0
    assert shown['frame'] == 'panda_link0'
    assert shown['colors'].shape == (len(shown['points']), 4)
    assert shown['on_shell'].shape == (len(shown['points']),)
    assert '/reachable_shell until Ctrl-C' in capsys.readouterr().out


def test_without_ros_publishing_is_refused_before_anything_is_computed(
    tmp_path, monkeypatch, capsys
):
    pytest.importorskip('matplotlib')
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    words = ['reach', '--publish', '--points', '500', '--output', str(tmp_path)]
    assert ik_study(words) == 2
    assert '--publish: needs ROS 2' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_listing_needs_neither_matplotlib_nor_ros():
    probe = (
        'import sys\n'
        'from ik_service.cli.programs import ik_study\n'
        'assert ik_study([]) == 0\n'
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'matplotlib', 'rclpy', 'mujoco'}, loaded\n"
    )
    done = subprocess.run([sys.executable, '-c', probe], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_is_written_is_read_again(tmp_path):
    rows = [
        {'arm': 'one, two', 'count': 3, 'share': 0.1, 'odd': math.nan},
        {'arm': 'ur5e', 'count': np.int64(4), 'share': np.float64(2.0) / 3.0, 'odd': math.inf},
    ]
    path = write_csv(tmp_path / 'table.csv', rows)
    first, second = read_csv(path)
    assert first['arm'] == 'one, two'
    assert (first['count'], second['count']) == (3, 4)
    assert isinstance(first['count'], int)
    assert second['share'] == pytest.approx(2.0 / 3.0, rel=1e-9)
    assert math.isnan(first['odd'])
    assert second['odd'] == math.inf


def test_rows_of_other_columns_are_refused(tmp_path):
    with pytest.raises(ValueError, match='not in fieldnames'):
        write_csv(tmp_path / 'table.csv', [{'a': 1}, {'a': 1, 'b': 2}])


def test_manipulability_is_the_product_of_the_singular_values():
    chain = load_arm('panda')
    q = chain.random_postures(1, 0)[0]
    values = np.linalg.svd(chain.jacobian(q), compute_uv=False)
    assert manipulability(chain, q) == pytest.approx(values.prod(), rel=1e-9)


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
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    with pytest.raises(MissingExtraError, match=r'ik_service\[plot\]'):
        figures.check_installed()


def test_a_table_is_written_whole_or_not_at_all(tmp_path):
    class Broken:
        def __str__(self):
            raise OSError(28, 'No space left on device')

    path = write_csv(tmp_path / 'table.csv', [{'a': 1}])
    with pytest.raises(OSError, match=r"No space left on device: '.*table\.csv'"):
        write_csv(path, [{'a': 2}, {'a': Broken()}])
    assert read_csv(path) == [{'a': 1}]
    assert list(tmp_path.iterdir()) == [path]
