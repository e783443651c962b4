"""Blocks of targets, solved in the same arrays again and again, and the progress of a batch."""

from __future__ import annotations

import io

import numpy as np
import pytest
from support.stores import ARRAYS

import ik_service as iks
from ik_service.extras.scale import ChainSpec, NO_POSE, PoseGrid
from ik_service.extras.scale.solving import BlockSolver, progress_of
from ik_service.extras.scale.targets import block_reader, block_targets


def assert_same_store(answers, expected, rows):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(answers, name), getattr(expected, name)[rows])
    np.testing.assert_array_equal(answers.status == 0, expected.success[rows])


@pytest.mark.parametrize('threads', [1, 2])
def test_answers_stay_until_the_next_block_but_one(spec, targets, expected, threads):
    solver = BlockSolver(spec, threads)
    blocks = slice(300), slice(300, 700), slice(700, 750), slice(750, 1150), slice(1150, 1150)
    before = None
    for rows in blocks:
        answers = solver.solve(targets[rows])
        assert_same_store(answers, expected, rows)
        if before is not None:
            assert_same_store(before[0], expected, before[1])
        before = answers, rows


def test_rows_between_others_that_are_no_poses(spec, targets, expected):
    solver, broken = BlockSolver(spec, 1), targets[:90].copy()
    broken[::3] = np.nan
    for _ in range(3):
        answers = solver.solve(broken)
        assert (answers.status[::3] == NO_POSE).all()
        assert np.isnan(answers.q[::3]).all()
        np.testing.assert_array_equal(answers.q[1::3], expected.q[1:90:3])


@pytest.mark.parametrize(
    'options', [{'max_searches': 1, 'max_iterations': 5}, {'prefer': 'nearest'}]
)
def test_statuses_are_those_of_a_batch(spec, targets, options):
    chosen = iks.IkOptions(**options)
    spec = ChainSpec(spec.urdf, spec.base_link, spec.tip_link, options=chosen)
    expected = iks.solve_ik_batch(spec.build().chain, targets[:200], options=chosen)
    solver = BlockSolver(spec)
    for _ in range(3):
        answers = solver.solve(targets[:200])
        assert answers.status.tolist() == [status.number for status in expected.status]
        assert_same_store(answers, expected, slice(200))


@pytest.mark.parametrize('change', [lambda rows: rows[::-1], lambda rows: rows.astype('>f4')])
def test_arrays_of_any_order_and_type(spec, targets, change):
    rows = change(targets[:50])
    rows.setflags(write=False)
    before = rows.copy()
    answers = BlockSolver(spec, 1).solve(rows)
    np.testing.assert_array_equal(rows, before)
    again = iks.solve_ik_batch(
        spec.build().chain, np.array(rows[answers.status != NO_POSE], float)
    )
    np.testing.assert_array_equal(answers.q[answers.status != NO_POSE], again.q)


def test_blocks_are_read_into_one_array(targets, tmp_path):
    np.save(tmp_path / 't.npy', targets)
    np.save(tmp_path / 'f.npy', targets.astype(np.float32))
    grid = PoseGrid(targets[:100, :3, 3], targets[:20, :3, :3])
    wanted = np.tile(np.eye(4), (2000, 1, 1))
    wanted[:, :3, :3] = np.tile(grid.rotations, (100, 1, 1))
    wanted[:, :3, 3] = np.repeat(grid.positions, 20, axis=0)
    mapped = [
        block_targets(np.load(tmp_path / name, mmap_mode='r')) for name in ('t.npy', 'f.npy')
    ]
    for given, rows in ((grid, wanted), (mapped[0], targets), (mapped[1], targets.astype('f4'))):
        read = block_reader(given, 300)
        kept = read(7, 307)
        np.testing.assert_array_equal(kept, rows[7:307])
        np.testing.assert_array_equal(read(1950, 2000), rows[1950:])
        assert np.shares_memory(kept, read(0, 300))
        np.testing.assert_array_equal(given.block(30, 90), rows[30:90])
    with pytest.raises(IndexError, match='2000 poses, and not 1950 to 2001'):
        grid.block(1950, 2001)


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    def isatty(self):
        return True


def shown(monkeypatch, choice, stream, count=1000):
    pytest.importorskip('tqdm', reason='tqdm is not installed (extra scale)')
    monkeypatch.setattr('sys.stderr', stream)
    with progress_of(choice, count) as progress:
        progress.skip(600)
        progress.advance(300)
    return stream.getvalue()


def test_bar_shows_rate_and_time_left_on_a_terminal(monkeypatch):
    text = shown(monkeypatch, True, Terminal())
    assert ' 900/1.00k' in text
    assert ' poses/s' in text
    assert '<' in text


@pytest.mark.parametrize(('choice', 'stream'), [(True, io.StringIO), (False, Terminal)])
def test_nothing_is_shown_elsewhere_or_unasked(monkeypatch, choice, stream):
    assert shown(monkeypatch, choice, stream()) == ''


def test_nothing_is_shown_where_there_is_no_stream(monkeypatch):
    closed = Terminal()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr('sys.stderr', stream)
        with progress_of(True, 10) as progress:
            progress.skip(4)
            progress.advance(6)


def test_what_was_there_before_is_not_in_the_rate(monkeypatch):
    bars = []
    tqdm = pytest.importorskip('tqdm', reason='tqdm is not installed (extra scale)')

    def kept(*words, **settings):
        bars.append(tqdm.std.tqdm(*words, **settings))
        return bars[-1]

    monkeypatch.setattr(tqdm, 'tqdm', kept)
    shown(monkeypatch, True, Terminal())
    assert (bars[0].n, bars[0].initial) == (900, 600)


def test_function_is_told_all_that_is_done():
    told = []
    with progress_of(lambda done, count: told.append((done, count)), 10) as progress:
        progress.skip(4)
        progress.advance(6)
    assert told == [(4, 10), (10, 10)]
