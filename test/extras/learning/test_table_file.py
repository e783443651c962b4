"""Files of tables, and the program ik_train that writes them."""

import os
from pathlib import Path
import pickle
import shlex
import shutil

import numpy as np
import pytest
from support.chains import arm, arm_path, ARM_TIPS, targets
from support.urdf_texts import tree_xml

import ik_service as iks
from ik_service import Robot
from ik_service.cli.programs import ik_train
from ik_service.exceptions import ArgumentError, SeedFileError
from ik_service.extras.learning import program as train
from ik_service.extras.learning import table_file
from ik_service.extras.learning.program import measure_effort
from ik_service.extras.learning.table_file import (
    default_path,
    load_table,
    train_command,
    train_table,
)

pytest.importorskip('scipy')


@pytest.fixture
def urdf(tmp_path):
    """A copy of an arm's URDF, in a folder of its own."""
    return shutil.copy(arm_path('panda'), tmp_path / 'arm.urdf')


@pytest.fixture
def chain(urdf):
    return Robot.from_urdf(urdf).chain(*ARM_TIPS['panda'])


@pytest.fixture
def saved(chain):
    """The path of a small table of the chain."""
    train_table(chain, 50)
    return default_path(chain)


def test_a_robot_without_a_file_needs_a_path(urdf):
    chain = Robot.from_urdf(urdf.read_text()).chain(*ARM_TIPS['panda'])
    with pytest.raises(ArgumentError, match='not read from a URDF file'):
        default_path(chain)


def test_missing_file_names_the_command_that_makes_it(chain, urdf):
    with pytest.raises(SeedFileError, match='no such file') as caught:
        load_table(chain)
    assert caught.value.path == default_path(chain)
    command = f'ik_train {urdf} --base-link panda_link0 --tip-link panda_hand_tcp'
    assert str(caught.value).endswith(f'make it with: {command}')


def test_command_names_locked_joints_and_another_file(urdf, tmp_path):
    locked = Robot.from_urdf(urdf).chain(*ARM_TIPS['panda'], locked={'panda_joint1': 0.5})
    words = shlex.split(train_command(locked, tmp_path / 'a file.npz'))
    assert words[-4:] == ['--lock', 'panda_joint1=0.5', '--output', str(tmp_path / 'a file.npz')]


@pytest.mark.parametrize(
    ('links', 'locked', 'message'),
    [
        (('panda_link1', 'panda_hand_tcp'), {}, "base_link is 'panda_link0', not 'panda_link1'"),
        (('panda_link0', 'panda_link8'), {}, "tip_link is 'panda_hand_tcp'"),
        (ARM_TIPS['panda'], {'panda_joint1': 0.0}, "joint_names is .*'panda_joint1'"),
    ],
)
def test_a_file_of_another_chain_is_refused(saved, urdf, links, locked, message):
    other = Robot.from_urdf(urdf).chain(*links, locked)
    with pytest.raises(SeedFileError, match=message) as caught:
        load_table(other, saved)
    assert 'ik_train' in str(caught.value)


def test_a_file_of_another_geometry_is_refused(saved, urdf):
    text = urdf.read_text()
    assert '0.333' in text
    longer = urdf.with_name('longer.urdf')
    longer.write_text(text.replace('0.333', '0.334'))
    chain = Robot.from_urdf(longer).chain(*ARM_TIPS['panda'])
    with pytest.raises(SeedFileError, match='another geometry'):
        load_table(chain, saved)


def test_narrower_limits_are_no_other_chain(saved, chain):
    narrow = chain.with_limits(0.9 * chain.lower, chain.upper)
    assert load_table(narrow, saved).postures.shape == (50, 7)


@pytest.mark.parametrize(
    ('part', 'value', 'message'),
    [
        ('kind', 'network', 'holds a network, not a table'),
        ('format', 7, 'has format 7, and this version reads 1'),
        ('geometry', np.array('text'), 'another geometry'),
        *(
            ('postures', value, r'damaged: its postures are no finite numbers of shape \(N, 7\)')
            for value in (
                np.array('text'),
                np.zeros((2, 2, 2)),
                np.zeros((4, 6)),
                np.zeros((0, 7)),
                np.full((4, 7), np.nan),
                np.zeros((4, 7), complex),
            )
        ),
    ],
)
def test_an_array_that_does_not_fit_is_named(saved, chain, part, value, message):
    with np.load(saved) as file:
        arrays = {**file, part: value}
    np.savez(saved, **arrays)
    with pytest.raises(SeedFileError, match=message + '.*; make it with: ik_train'):
        load_table(chain, saved)


def _halved(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _bytes_changed(path):
    data = bytearray(path.read_bytes())
    data[200:400] = bytes(200)
    path.write_bytes(data)


def _unknown_compression(path):
    data = path.read_bytes()
    for entry, method in ((b'PK\3\4', 8), (b'PK\1\2', 10)):  # the offset of its number
        place = data.index(entry) + method
        data = data[:place] + b'\x63\0' + data[place + 2 :]
    path.write_bytes(data)


def _one_array(path):
    with path.open('wb') as file:
        np.save(file, np.zeros(3))


@pytest.mark.parametrize(
    'spoil',
    [
        _halved,
        _bytes_changed,
        _unknown_compression,
        _one_array,
        lambda p: p.write_bytes(pickle.dumps({'format': 1})),
        lambda p: np.savez(p, format=np.array([{}], dtype=object)),
        lambda p: np.savez(p, x=np.zeros(3)),
        lambda p: p.write_text(''),
    ],
)
def test_damaged_file_is_reported(saved, chain, spoil):
    spoil(saved)
    with pytest.raises(SeedFileError, match=r'damaged|no seed file'):
        load_table(chain, saved)


def test_a_pipe_is_not_waited_for(chain, tmp_path):
    os.mkfifo(tmp_path / 'pipe.npz')
    with pytest.raises(SeedFileError, match='cannot be read: it is a pipe, and a regular file'):
        load_table(chain, tmp_path / 'pipe.npz')
    with pytest.raises(SeedFileError, match='cannot be read: it is a device, and a regular file'):
        load_table(chain, Path('/dev/zero'))


@pytest.mark.parametrize('name', ['missing/guess.npz', 'arm.urdf/guess.npz', '.'])
def test_unwritable_file_is_reported_at_once(chain, urdf, tmp_path, monkeypatch, name):
    monkeypatch.setattr(table_file, 'TableGuess', lambda *_: pytest.fail('a table was made'))
    with pytest.raises(SeedFileError, match=r'cannot be written: .*; name another output file'):
        train_table(chain, 100, tmp_path / name)
    assert sorted(tmp_path.iterdir()) == [urdf]


def test_a_table_replaces_neither_the_description_nor_a_device(chain, urdf, tmp_path, capsys):
    os.mkfifo(tmp_path / 'pipe')
    with pytest.raises(SeedFileError, match='it is no regular file'):
        train_table(chain, 100, tmp_path / 'pipe')
    before = urdf.read_bytes()
    with pytest.raises(SystemExit):
        ik_train([str(urdf), '--output', str(urdf)])
    assert 'is the file of the robot' in capsys.readouterr().err
    assert urdf.read_bytes() == before


def test_a_table_does_not_lie_beside_what_stands_for_a_file(urdf, capsys):
    with urdf.open() as file, pytest.raises(SystemExit):
        ik_train([f'/proc/self/fd/{file.fileno()}'])
    assert 'path: has to be given' in capsys.readouterr().err


def test_failed_write_keeps_the_old_file_and_leaves_no_other(chain, saved, tmp_path, monkeypatch):
    before = sorted(tmp_path.iterdir()), saved.read_bytes()
    monkeypatch.setattr(np, 'savez_compressed', lambda file, **_: file.write(b'%d' % (1 / 0)))
    with pytest.raises(ZeroDivisionError):
        train_table(chain, 100)
    assert (sorted(tmp_path.iterdir()), saved.read_bytes()) == before


def test_a_saved_file_can_be_read_by_others(saved):
    assert saved.stat().st_mode & 0o444 == 0o444


@pytest.fixture
def planar_urdf(tmp_path):
    return shutil.copy(arm_path('planar_6r'), tmp_path / 'arm.urdf')


@pytest.fixture
def planar(planar_urdf):
    return Robot.from_urdf(planar_urdf).chain(*ARM_TIPS['planar_6r'])


def test_a_table_is_found_beside_the_urdf_and_training_is_repeatable(planar, tmp_path):
    made = train_table(planar, 200)
    assert (tmp_path / 'arm.base_link.tool0.table.npz').is_file()
    np.testing.assert_allclose(load_table(planar).postures, made.postures, atol=1e-6)
    np.testing.assert_array_equal(train_table(planar, 200).postures, made.postures)
    assert not np.allclose(train_table(planar, 200, seed=6).postures, made.postures, atol=1e-3)


@pytest.mark.parametrize('as_path', [str, lambda path: path])
def test_another_file_can_be_named(planar, tmp_path, as_path):
    path = as_path(tmp_path / 'mine.npz')
    train_table(planar, 100, path)
    assert load_table(planar, path).postures.shape == (100, 6)
    with pytest.raises(SeedFileError, match='no such file'):
        load_table(planar)


def test_task_weights_reach_the_table(planar):
    train_table(planar, 500)
    table = load_table(planar, task_weights=(1, 1, 1, 0, 0, 0))
    (T,) = targets(planar, 1, seed=52)
    before = table.guess(T)
    T[:3, :3] = np.diag([1.0, -1.0, -1.0])
    np.testing.assert_allclose(table.guess(T), before, atol=1e-9)


def test_effort_is_that_of_the_solves():
    chain = arm('ur5e')
    poses = np.array(targets(chain, 50, seed=61))
    poses[7, :3, 3] = 5.0
    solver = iks.Solver(chain)
    measured = measure_effort(solver, poses)
    results = [solver.solve(T) for T in poses]
    assert measured.iterations == np.mean([result.iterations for result in results])
    assert measured.searches == np.mean([result.searches for result in results])
    assert measured.solved == 49 / 50
    first = sum(result.success and result.searches == 1 for result in results)
    assert measured.first_search == first / 50
    assert 0.0 < measured.call_time < 0.1


def test_solvers_start_at_the_guess_unless_a_seed_is_given(tmp_path):
    chain = arm('ur5e')
    path = tmp_path / 'guess.npz'
    train_table(chain, 2000, path)
    poses = np.array(targets(chain, 100, seed=62))
    solver = iks.Solver(chain)
    guessing = iks.Solver(chain, options=iks.IkOptions(seed_source='table', seed_file=str(path)))
    middle, learned = measure_effort(solver, poses), measure_effort(guessing, poses)
    assert learned.solved == 1.0
    assert learned.searches <= middle.searches
    assert learned.iterations < 0.85 * middle.iterations
    seed = chain.mid_range() + 0.1
    np.testing.assert_array_equal(guessing.solve(poses[0], seed).q, solver.solve(poses[0], seed).q)


@pytest.fixture
def few_poses(monkeypatch):
    """Checks the saved guess on fewer poses and methods, which is what takes time."""
    monkeypatch.setattr(train, '_CHECKED_POSES', 30)
    monkeypatch.setattr(train, '_METHODS', ('levenberg_marquardt',))


def test_makes_a_file_that_is_found_and_says_what_it_saves(planar_urdf, capsys, few_poses):
    assert ik_train([str(planar_urdf), '--base-link', 'base_link']) == 0
    path = planar_urdf.with_name('arm.base_link.tool0.table.npz')
    output = capsys.readouterr().out
    assert f'Saved     {path}' in output
    rows = [line.split() for line in output.splitlines() if ' %' in line or '%  ' in line]
    (middle, learned) = rows
    assert middle[:2] == ['levenberg_marquardt', 'middle']
    assert learned[0] == 'table'
    assert float(learned[1]) < float(middle[2])  # iterations
    assert learned[4] == '100.0%'
    load_table(Robot.from_urdf(planar_urdf).chain('base_link'))


def test_the_command_that_an_error_names_works(planar_urdf, capsys, few_poses, tmp_path):
    chain = Robot.from_urdf(planar_urdf).chain(*ARM_TIPS['planar_6r'], locked={'joint_2': 0.3})
    path = tmp_path / 'my table.npz'
    with pytest.raises(SeedFileError) as caught:
        load_table(chain, path)
    program, *words = shlex.split(str(caught.value).partition('make it with: ')[2])
    assert program == 'ik_train'
    assert ik_train([*words, '--samples', '200']) == 0
    assert load_table(chain, path).postures.shape == (200, 5)


def test_an_error_is_printed_and_nothing_is_saved(capsys):
    assert ik_train(['planar_6r', '--output', '/no/such/folder/table.npz']) == 2
    captured = capsys.readouterr()
    assert 'cannot be written' in captured.err
    assert 'Saved' not in captured.out


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ([], 'URDF'),
        (['no_such_arm'], "there is no file 'no_such_arm'"),
        (['three_arms.urdf'], 'name the tip: one, two, three'),
        (['planar_6r', '--kind', 'table'], "there is no option '--kind'"),
        (['planar_6r', '--samples', '10'], 'from 100 to 1,000,000'),
        (['planar_6r', '--samples', 'many'], 'from 100 to 1,000,000'),
        (['planar_6r', '--lock', 'joint_1'], 'torso=0.1'),
        (['planar_6r', '--lock', 'joint_1=nan'], 'torso=0.1'),
        (['planar_6r', '--lock', 'joint_9=0'], "unknown joint 'joint_9'"),
        (['planar_6r', '--tip-link', 'nose'], "unknown link 'nose'"),
        (['three_arms.urdf', '--srdf', 'none.srdf'], 'none.srdf'),
        (['planar_6r', '--seed', '-1'], 'from 0 to 4294967295'),
        (['planar_6r', '--seed', '4294967296'], 'from 0 to 4294967295'),
    ],
)
def test_a_wrong_command_is_refused_with_exit_code_2(
    words, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path('three_arms.urdf').write_text(tree_xml('base r:one', 'base r:two', 'base r:three'))
    with pytest.raises(SystemExit) as ending:
        ik_train(words)
    assert ending.value.code == 2
    assert message in capsys.readouterr().err


def test_ctrl_c_saves_nothing(planar_urdf, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(table_file, 'TableGuess', interrupted)
    assert ik_train([str(planar_urdf), '--base-link', 'base_link']) == 130
    assert 'stopped' in capsys.readouterr().err
    assert list(planar_urdf.parent.iterdir()) == [planar_urdf]
