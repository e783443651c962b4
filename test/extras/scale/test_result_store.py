"""Stores of answers: their files, and what interrupts, damages, fills, locks or changes them."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.stores import ARRAYS, assert_same_store, file_of, SUCCESS

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

import zarr

from ik_service.exceptions import ArgumentError, StoreError, StoreInterruptedError
from ik_service.extras.scale import ChainSpec, NO_POSE, ResultStore, solve_to_store, UNSOLVED

URDF = REPOSITORY / 'urdf' / 'panda.urdf'

# Solves for targets; before file number `at` gets its name, `event` happens.
CHILD = """
import os, resource, signal, sys
from pathlib import Path
import numpy as np
from ik_service.exceptions import IkServiceError
from ik_service.extras.scale import ChainSpec, solve_to_store

urdf, file, store, at, event = sys.argv[1:]
events = {
    'killed': lambda: os.kill(os.getpid(), signal.SIGKILL),
    'interrupted': lambda: os.kill(os.getpid(), signal.SIGINT),
    'full': lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY)),
}
count, replace = 0, Path.replace

def counted(path, target):
    global count
    count += '/c/' in str(target)
    if count == int(at):
        events[event]()
    return replace(path, target)

Path.replace = counted
try:
    spec = ChainSpec.of(urdf, 'panda_link0', 'panda_hand_tcp')
    targets = np.load(file, mmap_mode='r')
    solve_to_store(spec, targets, store, chunk=100, threads=1, progress=False)
except (IkServiceError, KeyboardInterrupt) as error:
    sys.exit(f'{type(error).__name__}: {error}')
"""


def goes_on(solve, solved_before, expected, **options):
    """Require that a call solves what is missing, and that all answers are then as expected."""
    report = solve(**options)
    assert report.solved_before == solved_before
    assert_same_store(report.store, expected)


@pytest.fixture(scope='module')
def targets(targets):
    return targets[:430]


@pytest.fixture(scope='module')
def solved(spec, targets, tmp_path_factory):
    path = tmp_path_factory.mktemp('solved') / 's'
    solve_to_store(spec, targets, path, chunk=100, progress=False)
    return path


@pytest.fixture
def whole(solved, tmp_path):
    """A store of all answers, as ``solve`` leaves it."""
    shutil.copytree(solved, tmp_path / 's')


@pytest.fixture
def child(targets, tmp_path):
    np.save(tmp_path / 't.npy', targets)

    def run(at, event):
        words = [URDF, tmp_path / 't.npy', tmp_path / 's', at, event]
        return subprocess.run(
            [sys.executable, '-c', CHILD, *map(str, words)], capture_output=True, text=True
        )

    return run


class TestInterruption:
    """What somebody stops goes on where it was, with the same answers."""

    def test_killed_in_the_middle_of_a_chunk_again_and_again(
        self, child, solve, expected, tmp_path
    ):
        solved = []
        for at in (1, 8, 14, 18):  # first file, that of another chunk, status, fourth file
            assert child(at, 'killed').returncode == -signal.SIGKILL
            status = ResultStore.existing(tmp_path / 's').read('status')
            assert set(status) <= {SUCCESS, UNSOLVED}
            solved.append((status == SUCCESS).sum())
            q = ResultStore.existing(tmp_path / 's').read('q')  # also of the chunk in the middle
            assert len(q) == 430
            assert not np.isnan(q[status == SUCCESS]).any()
        assert solved == [0, 100, 200, 400]
        goes_on(solve, 400, expected)
        assert not list(tmp_path.rglob('*.partial'))

    def test_ctrl_c_says_what_is_kept(self, child, solve, expected, tmp_path):
        run = child(14, 'interrupted')
        assert run.returncode == 1
        assert run.stderr.startswith(f'StoreInterruptedError: store {tmp_path / "s"} was left')
        assert 'Traceback' not in run.stderr
        report = solve()
        assert report.solved_before >= 200
        assert_same_store(report.store, expected)

    def test_interrupt_of_a_callback_is_told(self, solve, expected):
        def interrupt(done, _):
            if done >= 300:
                raise KeyboardInterrupt

        with pytest.raises(StoreInterruptedError, match='same call goes on'):
            solve(progress=interrupt)
        report = solve()
        assert report.solved_before in (300, 400)
        assert_same_store(report.store, expected)

    def test_full_disk_keeps_what_was_whole(self, child, solve, expected):
        run = child(14, 'full')
        assert run.returncode == 1
        assert run.stderr.startswith('StoreError')
        assert 'File too large' in run.stderr
        goes_on(solve, 200, expected)


class TestDamage:
    """Answers that are damaged are never taken for whole."""

    @pytest.mark.parametrize('array', ['q', 'target_digest', 'status'])
    @pytest.mark.parametrize('fault', ['cut', 'emptied', 'flipped', 'removed'])
    def test_damaged_chunk_is_solved_again(self, solve, whole, expected, tmp_path, array, fault):
        file = file_of(tmp_path / 's', array, 3)
        content = bytearray(file.read_bytes())
        content[5] ^= 1
        faults = {'cut': content[:20], 'emptied': b'', 'flipped': content}
        file.unlink() if fault == 'removed' else file.write_bytes(faults[fault])
        store = ResultStore.existing(tmp_path / 's')
        if (array, fault) == ('status', 'removed'):  # as of a chunk that was never finished
            assert (store.read('status', 300, 400) == UNSOLVED).all()
        else:
            with pytest.raises(StoreError, match=f'damaged: {array}, rows 300 to 350'):
                store.read(array, 300, 350)
        assert len(store.read(array, 0, 300)) == 300
        assert len(store.read(array, 400)) == 30
        goes_on(solve, 330, expected)

    def test_array_that_was_cut_short_grows_again(self, solve, expected, targets, tmp_path):
        solve(targets=iter([targets]))
        settings = tmp_path / 's' / 'searches' / 'zarr.json'
        settings.write_text(settings.read_text().replace('430', '350', 1))
        assert ResultStore.existing(tmp_path / 's').size == 350
        goes_on(solve, 300, expected, targets=iter([targets]))

    def test_chunk_without_a_pose_is_whole(self, solve, targets):
        targets = targets[:300].copy()
        targets[100:200] = np.nan
        store = solve(targets=targets).store
        assert (store.read('status', 100, 200) == NO_POSE).all()
        assert solve(targets=targets).solved_before == 300


class TestRefusal:
    """What belongs to somebody else is left alone."""

    def test_store_of_something_else_is_kept(self, solve, whole, targets, expected, tmp_path):
        with pytest.raises(StoreError, match='other targets'):
            solve(targets=targets[:429])
        other = ChainSpec.of(URDF, 'panda_link0', 'panda_link8')
        with pytest.raises(StoreError, match='other chains'):
            solve_to_store(other, targets, tmp_path / 's', progress=False)
        assert_same_store(ResultStore.existing(tmp_path / 's'), expected)

    def test_other_version_is_refused(self, solve, whole, tmp_path):
        import zarr

        zarr.open_group(tmp_path / 's', mode='r+').attrs['format'] = 99
        with pytest.raises(StoreError, match='layout 99'):
            solve()
        with pytest.raises(StoreError, match='layout 99'):
            ResultStore.existing(tmp_path / 's')

    def test_other_content_is_refused(self, solve, tmp_path):
        import zarr

        (tmp_path / 'notes.txt').write_text('mine')
        zarr.create_group(tmp_path / 'map.zarr')
        for path, text in (
            (tmp_path, r'is no store of answers: it has no file zarr\.json'),
            (tmp_path / 'notes.txt', 'is no store of answers but a file'),
            (tmp_path / 'map.zarr', 'holds something else than answers'),
        ):
            with pytest.raises(StoreError, match=text):
                solve(path)
        with pytest.raises(StoreError, match='is no store of answers: there is no such folder'):
            ResultStore.existing(tmp_path / 'nothing')
        with pytest.raises(StoreError, match=r'^store …n+ ') as caught:
            ResultStore.existing(tmp_path / (5_000 * 'n'))
        assert len(str(caught.value)) < 500
        assert sorted(path.name for path in tmp_path.iterdir()) == ['map.zarr', 'notes.txt']

    def test_second_writer_is_refused_and_the_first_is_named(self, solve, expected, tmp_path):
        with solve().store.alone(), pytest.raises(StoreError, match=f'process {os.getpid()} on'):
            solve()
        assert_same_store(solve().store, expected)

    def test_faster_maker_of_a_store_wins(self, solve, spec, targets, expected, monkeypatch):
        from ik_service.extras.scale import result_store

        def overtaken(path):
            monkeypatch.undo()
            if not has_content(path):
                solve(path)
                return False
            return True

        has_content = result_store.has_content
        monkeypatch.setattr(result_store, 'has_content', overtaken)
        goes_on(solve, 430, expected)

    def test_unknown_array_is_named(self, solve):
        store = solve().store
        with pytest.raises(ArgumentError, match='orientation_error'):
            store.read('torque')
        with pytest.raises(ArgumentError, match=r"first: has to be a whole number .*, not 'a'"):
            store.read('q', 'a')

    def test_remains_within_a_store_go_by_their_names(self, solve, whole, tmp_path):
        identity = '0123456789abcdef' * 2
        for name in ('notes.partial', 'q/notes.partial', '.targets-mine.npy', 'targets.npy'):
            (tmp_path / 's' / name).write_text('mine')
        for name in (f'q/c/0/0.{identity}.partial', f'.targets-{identity}.npy'):
            (tmp_path / 's' / name).write_text('left')
        before = {path for path in (tmp_path / 's').rglob('*') if identity not in path.name}
        solve()
        assert set((tmp_path / 's').rglob('*')) == before

    @pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
    def test_folder_that_cannot_be_written_is_named(self, solve, whole, expected, tmp_path):
        (tmp_path / 's').chmod(0o500)
        assert_same_store(ResultStore.existing(tmp_path / 's'), expected)
        with pytest.raises(StoreError, match='Permission denied'):
            solve()
        (tmp_path / 's').chmod(0o700)


def files_of(path):
    return {file: file.read_bytes() for file in path.rglob('*') if file.is_file()}


@pytest.mark.parametrize(
    ('array', 'changes'),
    [
        ('q', {'data_type': 'float32'}),
        ('status', {'data_type': 'int8', 'fill_value': -1}),
        ('q', {'shape': [430, 6]}),
        ('q', {'chunk_grid': {'name': 'regular', 'configuration': {'chunk_shape': [99, 7]}}}),
    ],
)
def test_changed_arrays_are_named(solve, whole, expected, tmp_path, array, changes):
    settings = tmp_path / 's' / array / 'zarr.json'
    right = settings.read_text()
    settings.write_text(json.dumps(json.loads(right) | changes))
    before = files_of(tmp_path / 's')
    with pytest.raises(StoreError, match=f'is damaged: the array {array} is another one'):
        solve()
    assert files_of(tmp_path / 's') == before
    settings.write_text(right)
    goes_on(solve, 430, expected)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('chunk', 0), ('chunk', 'a'), ('chunk', None), ('chunk', True),
        ('joint_names', 3), ('joint_names', [1]), ('spec', None),
        ('targets', 3), ('id', 5), ('chain', None),
    ],
)  # fmt: skip
def test_changed_attributes_are_named(solve, whole, tmp_path, name, value):
    settings = tmp_path / 's' / 'zarr.json'
    content = json.loads(settings.read_text())
    content['attributes'][name] = value
    settings.write_text(json.dumps(content))
    before = files_of(tmp_path / 's')
    with pytest.raises(StoreError, match=r'is damaged: .*another folder'):
        solve()
    assert files_of(tmp_path / 's') == before


def test_attributes_of_others_stay(solve, whole, tmp_path):
    settings = tmp_path / 's' / 'zarr.json'
    content = json.loads(settings.read_text())
    content['attributes'] |= {'operator': 'Ada'}
    settings.write_text(json.dumps(content))
    assert solve().solved_before == 430
    assert ResultStore.existing(tmp_path / 's').attributes['operator'] == 'Ada'


def test_array_in_the_place_of_a_group_is_told(solve, whole, tmp_path):
    settings = tmp_path / 's' / 'zarr.json'
    settings.write_text((tmp_path / 's' / 'q' / 'zarr.json').read_text())
    with pytest.raises(StoreError, match=r'is damaged, or no store of answers: .*zarr\.json'):
        solve()
    settings.unlink()
    with pytest.raises(StoreError, match=r'is no store of answers: it has no file zarr\.json'):
        solve()


@pytest.mark.parametrize('array', ['q', 'status'])
def test_folder_in_the_place_of_a_file_is_named(solve, whole, tmp_path, array):
    file = tmp_path / 's' / array / 'c' / ('3/0' if array == 'q' else '3')
    file.unlink()
    file.mkdir()
    if array == 'q':
        text = 'the file q/c/3/0 is missing: a folder is in its place'
        with pytest.raises(StoreError, match=text):
            ResultStore.existing(tmp_path / 's').read('q')
    with pytest.raises(StoreError, match=f'cannot be used: {file}: Is a directory'):
        solve()


def test_file_in_the_way_to_the_folder_is_named(spec, targets, tmp_path):
    (tmp_path / 'taken').write_text('')
    with pytest.raises(StoreError, match=f'cannot be used: {tmp_path / "taken"} is a file'):
        solve_to_store(spec, targets, tmp_path / 'taken' / 's', progress=False)


@pytest.mark.parametrize('content', ['', '{', '[]', '{"zarr_format": 3, "node_type": "gr'])
@pytest.mark.parametrize('place', ['', 'status'])
def test_settings_that_are_half_written_are_told(solve, whole, tmp_path, content, place):
    (tmp_path / 's' / place / 'zarr.json').write_text(content)
    with pytest.raises(StoreError, match=f'is damaged.*{place}.*another folder'):
        solve()
    with pytest.raises(StoreError, match=f'is damaged.*{place}.*another folder'):
        ResultStore.existing(tmp_path / 's')


def test_changed_chain_is_told_also_by_those_who_only_read(solve, whole, tmp_path):
    settings = tmp_path / 's' / 'zarr.json'
    whole = settings.read_text()
    content = json.loads(whole)
    chain = json.loads(content['attributes']['chain'])
    chain['options']['position_tolerance'] *= 2.0
    for changed in (json.dumps(chain), '{', 'null', '[' * 10_000):
        content['attributes']['chain'] = changed
        settings.write_text(json.dumps(content))
        with pytest.raises(StoreError, match='attribute chain is not that of its attribute spec'):
            ResultStore.existing(tmp_path / 's')
    settings.write_text(whole)
    assert (
        ResultStore.existing(tmp_path / 's').chain_spec.digest == solve().store.chain_spec.digest
    )


FILES = (*ARRAYS, 'target_digest', 'status')


def test_zarr_reads_what_is_written(solve, tmp_path):
    store = solve().store
    group = zarr.open_group(tmp_path / 's', mode='r')
    assert set(group.array_keys()) == set(FILES)
    for name in FILES:
        assert group[name].shape[0] == 430
        np.testing.assert_array_equal(group[name][:], store.read(name))


def test_what_zarr_has_written_is_read(solve, whole, targets, expected, tmp_path):
    group = zarr.open_group(tmp_path / 's', mode='r+')
    for name in FILES:
        group[name][:] = group[name][:]
    goes_on(solve, 430, expected)
