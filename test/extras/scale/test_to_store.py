"""Targets solved into a store: answers, changed and mended targets, streams, and the progress."""

import io

import numpy as np
import pytest
from support.stores import ARRAYS

import ik_service as iks
from ik_service.extras.scale import ChainSpec, NO_POSE, PoseGrid
from ik_service.extras.scale.solving import BlockSolver, progress_of
from ik_service.extras.scale.targets import block_reader, block_targets

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

from ik_service.exceptions import ArgumentError, StoreError
from ik_service.extras.scale import solve_to_store
from ik_service.extras.scale.solving import transform_digests
from ik_service.extras.scale.targets import blocks_of

SUCCESS = iks.IkStatus.SUCCESS.number


def test_answers_are_those_of_a_batch(spec, targets, expected, tmp_path):
    report = solve_to_store(spec, targets, tmp_path / 's', chunk=300, progress=False)
    store = report.store
    assert (report.count, report.solved_before) == (2000, 0)
    np.testing.assert_array_equal(store.read('q'), expected.q)
    np.testing.assert_array_equal(store.read('position_error'), expected.position_error)
    np.testing.assert_array_equal(store.read('iterations'), expected.iterations)
    assert (store.read('status') == SUCCESS).all()
    assert store.attributes['joint_names'] == list(spec.build().chain.joint_names)


def test_rows_that_are_no_poses_are_marked(spec, targets, tmp_path):
    bad = targets[:50].copy()
    bad[7], bad[20, :3, :3], bad[49, 3, 0] = np.nan, 2.0, 1.0
    store = solve_to_store(spec, bad, tmp_path / 's', chunk=16, progress=False).store
    status = store.read('status')
    assert np.flatnonzero(status == NO_POSE).tolist() == [7, 20, 49]
    assert np.isnan(store.read('q')[[7, 20, 49]]).all()
    assert (np.delete(status, [7, 20, 49]) == SUCCESS).all()


def test_rows_with_masked_elements_are_no_poses(spec, targets, expected, tmp_path):
    masked = np.ma.array(targets[:50])
    masked[7], masked[20, 0, 3] = np.ma.masked, np.ma.masked
    assert np.isfinite(masked.data).all()
    store = solve_to_store(spec, masked, tmp_path / 's', chunk=16, progress=False).store
    assert np.flatnonzero(store.read('status') == NO_POSE).tolist() == [7, 20]
    np.testing.assert_array_equal(
        np.delete(store.read('q'), [7, 20], axis=0), np.delete(expected.q[:50], [7, 20], axis=0)
    )


GIVEN = {'array': lambda rows: rows, 'stream': lambda rows: iter([rows[:33], rows[33:]])}


@pytest.mark.parametrize('given', GIVEN.values(), ids=GIVEN)
def test_mended_rows_are_solved_by_the_next_call(given, spec, targets, expected, tmp_path):
    broken = targets[:500].copy()
    broken[[151, 302]] = np.nan
    solve_to_store(spec, given(broken), tmp_path / 's', chunk=100, progress=False)
    assert solve_to_store(spec, given(broken), tmp_path / 's', progress=False).solved_before == 500
    broken[151] = targets[151]
    report = solve_to_store(spec, given(broken), tmp_path / 's', progress=False)
    assert report.solved_before == 400
    status, q = report.store.read('status'), report.store.read('q')
    assert np.flatnonzero(status == NO_POSE).tolist() == [302]
    np.testing.assert_array_equal(np.delete(q, 302, 0), np.delete(expected.q[:500], 302, 0))


@pytest.mark.parametrize('given', GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize('row', [0, 123, 399])
def test_changed_targets_are_solved_again(given, spec, targets, expected, tmp_path, row):
    solve_to_store(spec, given(targets[:400]), tmp_path / 's', chunk=100, progress=False)
    changed = targets[:400].copy()
    changed[row] = targets[1000]
    report = solve_to_store(spec, given(changed), tmp_path / 's', progress=False)
    assert report.solved_before == 300
    wanted = expected.q[:400].copy()
    wanted[row] = expected.q[1000]
    np.testing.assert_array_equal(report.store.read('q'), wanted)


@pytest.mark.parametrize('given', GIVEN.values(), ids=GIVEN)
def test_targets_of_which_most_are_others_are_refused(given, spec, targets, expected, tmp_path):
    solve_to_store(spec, given(targets[:400]), tmp_path / 's', chunk=100, progress=False)
    others = targets[1000:1400].copy()
    others[:40] = targets[:40]
    with pytest.raises(StoreError, match=r'other targets: \d+ of the \d+ that are answered'):
        solve_to_store(spec, given(others), tmp_path / 's', progress=False)
    store = solve_to_store(spec, given(targets[:400]), tmp_path / 's', progress=False)
    assert store.solved_before == 400
    np.testing.assert_array_equal(store.store.read('q'), expected.q[:400])


def test_another_number_of_targets_is_told(spec, targets, tmp_path):
    solve_to_store(spec, targets[:20], tmp_path / 's', progress=False)
    with pytest.raises(StoreError, match='other targets, 20 and not 30: take another folder'):
        solve_to_store(spec, targets[:30], tmp_path / 's', progress=False)


def test_digests_tell_half_turns_and_single_bits_apart():
    turns = [np.diag([a, b, a * b, 1.0]) for a in (1.0, -1.0) for b in (1.0, -1.0)]
    bits = np.tile(np.eye(4), (16 * 64, 1, 1))
    words = bits.reshape(-1, 16).view(np.uint64)
    for number, word in enumerate(words):
        word[number // 64] ^= np.uint64(1) << np.uint64(number % 64)
    digests = transform_digests(np.concatenate([turns, bits]))
    assert len(set(digests.tolist())) == len(digests)


def test_arrays_of_zarr_and_streams_answer_alike(spec, targets, expected, tmp_path):
    import zarr

    array = zarr.create_array(tmp_path / 't', data=targets[:500], chunks=(64, 4, 4))
    of_array = solve_to_store(spec, array, tmp_path / 'a', chunk=200, progress=False)
    pieces = [targets[0], targets[1:130], targets[130:130], targets[130:500]]
    of_stream = solve_to_store(spec, iter(pieces), tmp_path / 'b', chunk=200, progress=False)
    for report in (of_array, of_stream):
        np.testing.assert_array_equal(report.store.read('q'), expected.q[:500])


def test_stream_goes_on_and_may_have_grown(spec, targets, expected, tmp_path):
    solve_to_store(spec, iter([targets[:250]]), tmp_path / 's', chunk=100, progress=False)
    report = solve_to_store(spec, iter([targets[:430]]), tmp_path / 's', progress=False)
    assert (report.count, report.solved_before) == (430, 200)
    np.testing.assert_array_equal(report.store.read('q'), expected.q[:430])


@pytest.mark.parametrize(
    'targets', [3, np.eye(4), np.zeros((2, 3, 3)), [['a']], np.zeros((2, 4, 4), bool)]
)
def test_what_are_no_targets_is_refused(spec, targets, tmp_path):
    with pytest.raises(ArgumentError, match='targets'):
        solve_to_store(spec, targets, tmp_path / 's', progress=False)
    assert not (tmp_path / 's').exists()


@pytest.mark.parametrize('count', [0, 1, 5])
def test_few_targets_are_less_than_a_chunk(spec, targets, tmp_path, count):
    for _ in range(2):
        report = solve_to_store(spec, targets[:count], tmp_path / 's', progress=False)
        assert report.count == count
        assert report.store.read('q').shape == (count, 7)
    assert report.solved_before == count
    assert report.rate == 0.0


def test_whole_numbers_may_be_those_of_numpy(spec, targets, tmp_path):
    given = {'chunk': np.int64(50), 'threads': np.int32(1)}
    report = solve_to_store(spec, targets[:120], tmp_path / 's', **given, progress=False)
    assert report.store.chunk == 50
    for chunk in (True, np.True_, 50.0, np.float64(50.0), 1_000_001):
        with pytest.raises(ArgumentError, match='chunk: has to be a whole number from 1 to'):
            solve_to_store(spec, targets, tmp_path / 't', chunk=chunk, progress=False)


def test_path_with_a_zero_byte_is_refused(spec, targets, tmp_path):
    with pytest.raises(ArgumentError, match='store: has a zero byte in its path'):
        solve_to_store(spec, targets, f'{tmp_path}/a\0b', progress=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize('name', ['chunk', 'threads', 'store', 'chain_spec'])
def test_wrong_arguments_are_named_and_leave_nothing(spec, targets, tmp_path, name):
    given = {'chain_spec': spec, 'store': tmp_path / 's', 'progress': False}
    wrong = {'chunk': 0, 'threads': 0, 'store': 3, 'chain_spec': spec.build().chain}
    with pytest.raises(ArgumentError, match=name):
        solve_to_store(targets=targets, **given | {name: wrong[name]})
    assert not list(tmp_path.iterdir())


def test_pieces_of_a_stream_may_have_any_size_and_be_used_again(targets):
    buffer = np.empty((700, 4, 4))

    def stream():
        for first, last in ((0, 700), (700, 701), (701, 950)):
            buffer[: last - first] = targets[first:last]
            yield buffer[: last - first]

    blocks = list(blocks_of(stream(), 300))
    assert [len(block) for block in blocks] == [300, 300, 300, 50]
    np.testing.assert_array_equal(np.concatenate(blocks), targets[:950])


def test_stream_that_gives_fewer_than_before_is_told(spec, targets, expected, tmp_path):
    solve_to_store(spec, iter([targets[:250]]), tmp_path / 's', chunk=100, progress=False)
    for count in (0, 100, 230):
        with pytest.raises(
            StoreError, match=f'answers for 250 targets, of which .* given {count}:'
        ):
            solve_to_store(spec, iter([targets[:count]]), tmp_path / 's', progress=False)
    report = solve_to_store(spec, iter([targets[:250]]), tmp_path / 's', progress=False)
    assert report.solved_before >= 200
    np.testing.assert_array_equal(report.store.read('q'), expected.q[:250])


def test_error_of_a_stream_keeps_the_chunks_before_it(spec, targets, expected, tmp_path):
    def stream(fault):
        yield targets[:250]
        yield from fault

    faults = (1 / zero for zero in (0,))
    with pytest.raises(ZeroDivisionError):
        solve_to_store(spec, stream(faults), tmp_path / 's', chunk=100, progress=False)
    with pytest.raises(ArgumentError, match='piece 1 of the stream'):
        solve_to_store(spec, stream([np.eye(3)]), tmp_path / 's', progress=False)
    report = solve_to_store(spec, stream([targets[250:300]]), tmp_path / 's', progress=False)
    assert (report.count, report.solved_before) == (300, 200)
    np.testing.assert_array_equal(report.store.read('q'), expected.q[:300])


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
