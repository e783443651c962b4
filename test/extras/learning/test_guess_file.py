"""Files of guesses, and the program ik_train that writes them."""

import os
from pathlib import Path
import pickle
import shlex
import shutil

import numpy as np
import pytest
from support.chains import arm, arm_path, ARM_TIPS, pose_difference, targets, within_limits
from support.urdf_texts import tree_xml

import ik_service as iks
from ik_service import Robot
from ik_service.cli.programs import ik_train
from ik_service.exceptions import ArgumentError, SeedFileError
from ik_service.extras.learning import program as train
from ik_service.extras.learning.guess_file import (
    default_path,
    KINDS,
    load_guess,
    read_arrays,
    replaced_file,
    train_command,
    write_guess,
)
from ik_service.extras.learning.program import measure_effort
from ik_service.extras.learning.table import train_table
from ik_service.extras.learning.training import train_guess, trainer


def errors(chain, postures, poses):
    """Distances [m] and angles [rad] from the poses, one row each."""
    return np.array(
        [pose_difference(chain.forward(q), T) for q, T in zip(postures, poses, strict=True)]
    )


def test_guesses_are_closer_than_the_middle_and_within_limits(guess):
    chain = guess.chain
    poses = np.array(targets(chain, 200, seed=31))
    guesses = guess.guess_many(poses)
    assert guesses.shape == (200, chain.n)
    assert all(within_limits(chain, q) for q in guesses)
    guessed = np.median(errors(chain, guesses, poses), axis=0)
    middle = np.median(errors(chain, [chain.mid_range()] * 200, poses), axis=0)
    assert (guessed < 0.5 * middle).all()


def test_one_guess_is_a_row_of_many(guess):
    poses = np.array(targets(guess.chain, 20, seed=32))
    rows = guess.guess_many(poses)
    for q, T in zip(rows, poses, strict=True):
        # Products of matrices of other sizes are summed up in another order.
        np.testing.assert_allclose(guess.guess(T), q, atol=1e-4)


def test_training_is_repeatable(kind, planar_guess):
    again = trainer(kind)(planar_guess.chain, 300, 5)
    once = trainer(kind)(planar_guess.chain, 300, 5)
    other = trainer(kind)(planar_guess.chain, 300, 6)
    poses = np.array(targets(planar_guess.chain, 10, seed=35))
    np.testing.assert_allclose(again.guess_many(poses), once.guess_many(poses), atol=1e-6)
    assert not np.allclose(other.guess_many(poses), once.guess_many(poses), atol=1e-3)


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
    pytest.importorskip('scipy')
    path = default_path(chain, 'table')
    with replaced_file(path) as file:
        write_guess(file, train_table(chain, 50))
    return path


def test_a_robot_without_a_file_needs_a_path(urdf):
    chain = Robot.from_urdf(urdf.read_text()).chain(*ARM_TIPS['panda'])
    with pytest.raises(ArgumentError, match='not read from a URDF file'):
        default_path(chain, 'table')


def test_missing_file_names_the_command_that_makes_it(chain, urdf):
    with pytest.raises(SeedFileError, match='no such file') as caught:
        read_arrays(default_path(chain, 'network'), chain, 'network')
    assert caught.value.path == default_path(chain, 'network')
    command = f'ik_train {urdf} --base-link panda_link0 --tip-link panda_hand_tcp --kind network'
    assert str(caught.value).endswith(f'make it with: {command}')


def test_command_names_locked_joints_and_another_file(urdf, tmp_path):
    locked = Robot.from_urdf(urdf).chain(*ARM_TIPS['panda'], locked={'panda_joint1': 0.5})
    words = shlex.split(train_command(locked, 'table', tmp_path / 'a file.npz'))
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
        read_arrays(saved, other, 'table')
    assert 'ik_train' in str(caught.value)


def test_a_file_of_another_geometry_is_refused(saved, urdf):
    text = urdf.read_text()
    assert '0.333' in text
    longer = urdf.with_name('longer.urdf')
    longer.write_text(text.replace('0.333', '0.334'))
    chain = Robot.from_urdf(longer).chain(*ARM_TIPS['panda'])
    with pytest.raises(SeedFileError, match='another geometry'):
        read_arrays(saved, chain, 'table')


def test_narrower_limits_are_no_other_chain(saved, chain):
    narrow = chain.with_limits(0.9 * chain.lower, chain.upper)
    assert read_arrays(saved, narrow, 'table')['postures'].shape == (50, 7)


def test_a_file_of_another_kind_is_refused(saved, chain):
    with pytest.raises(SeedFileError, match='holds a table, not a network'):
        read_arrays(saved, chain, 'network')


def test_a_file_of_another_format_is_refused(saved, chain):
    with np.load(saved) as file:
        arrays = {**file, 'format': 7}
    np.savez(saved, **arrays)
    with pytest.raises(SeedFileError, match='has format 7, and this version reads 1'):
        read_arrays(saved, chain, 'table')


def _halved(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _bytes_changed(path):
    data = bytearray(path.read_bytes())
    data[200:400] = bytes(200)
    path.write_bytes(data)


def _one_array(path):
    with path.open('wb') as file:
        np.save(file, np.zeros(3))


def _pickled(path):
    path.write_bytes(pickle.dumps({'format': 1}))


def _objects(path):
    with path.open('wb') as file:
        np.savez(file, format=np.array([{}], dtype=object))


def _others(path):
    with path.open('wb') as file:
        np.savez(file, x=np.zeros(3))


@pytest.mark.parametrize(
    'spoil',
    [_halved, _bytes_changed, _one_array, _pickled, _objects, _others, lambda p: p.write_text('')],
)
def test_damaged_file_is_reported(saved, chain, spoil):
    spoil(saved)
    with pytest.raises(SeedFileError, match=r'damaged|no seed file'):
        read_arrays(saved, chain, 'table')


def test_a_pipe_is_not_waited_for(chain, tmp_path):
    os.mkfifo(tmp_path / 'pipe.npz')
    with pytest.raises(SeedFileError, match='cannot be read: it is a pipe, and a regular file'):
        read_arrays(tmp_path / 'pipe.npz', chain, 'table')
    with pytest.raises(SeedFileError, match='cannot be read: it is a device, and a regular file'):
        read_arrays(Path('/dev/zero'), chain, 'table')


@pytest.mark.parametrize('name', ['missing/guess.npz', 'arm.urdf/guess.npz', '.'])
def test_unwritable_file_is_reported_at_once(urdf, tmp_path, name):
    message = r'cannot be written: .*; name another output file'
    with pytest.raises(SeedFileError, match=message), replaced_file(tmp_path / name):
        pytest.fail('the file was opened')
    assert sorted(tmp_path.iterdir()) == [urdf]


def test_failed_write_keeps_the_old_file_and_leaves_no_other(saved, tmp_path):
    before = sorted(tmp_path.iterdir()), saved.read_bytes()
    with pytest.raises(ZeroDivisionError), replaced_file(saved) as file:
        file.write(b'%d' % (1 / 0))
    assert (sorted(tmp_path.iterdir()), saved.read_bytes()) == before


def test_a_saved_file_can_be_read_by_others(saved):
    assert saved.stat().st_mode & 0o444 == 0o444


@pytest.fixture
def planar(tmp_path):
    urdf = shutil.copy(arm_path('planar_6r'), tmp_path / 'arm.urdf')
    return Robot.from_urdf(urdf).chain(*ARM_TIPS['planar_6r'])


def test_a_trained_guess_is_found_beside_the_urdf(kind, planar, tmp_path):
    trained = train_guess(planar, kind, 200)
    assert (tmp_path / f'arm.base_link.tool0.{kind}.npz').is_file()
    loaded = load_guess(planar, kind)
    assert loaded.kind == kind
    poses = np.array(targets(planar, 10, seed=51))
    np.testing.assert_allclose(loaded.guess_many(poses), trained.guess_many(poses), atol=1e-5)


@pytest.mark.parametrize('as_path', [str, lambda path: path])
def test_another_file_can_be_named(kind, planar, tmp_path, as_path):
    path = as_path(tmp_path / 'mine.npz')
    train_guess(planar, kind, 100, path)
    assert load_guess(planar, kind, path).kind == kind
    with pytest.raises(SeedFileError, match='no such file'):
        load_guess(planar, kind)


def test_task_weights_reach_the_table(planar, tmp_path):
    pytest.importorskip('scipy')
    train_guess(planar, 'table', 500)
    table = load_guess(planar, 'table', task_weights=(1, 1, 1, 0, 0, 0))
    (T,) = targets(planar, 1, seed=52)
    before = table.guess(T)
    T[:3, :3] = np.diag([1.0, -1.0, -1.0])
    np.testing.assert_allclose(table.guess(T), before, atol=1e-9)


@pytest.mark.parametrize('use', [load_guess, lambda planar, kind: train_guess(planar, kind, 100)])
def test_unknown_kinds_list_the_valid_ones(planar, use):
    with pytest.raises(ArgumentError, match=f'one of {", ".join(KINDS)}, not .oracle'):
        use(planar, 'oracle')


@pytest.mark.parametrize(
    ('kind', 'part'),
    [('table', 'postures'), ('network', 'layers'), ('network', 'matrix0'), ('network', 'vector1')],
)
def test_missing_or_wrong_array_is_reported(planar, kind, part):
    pytest.importorskip('scipy' if kind == 'table' else 'sklearn')
    train_guess(planar, kind, 100)
    path = planar.robot.source.with_name(f'arm.base_link.tool0.{kind}.npz')
    with np.load(path) as file:
        arrays = dict(file)
    for value in (None, np.array('text'), np.zeros((2, 2, 2))):
        kept = {name: array for name, array in arrays.items() if name != part}
        np.savez(path, **kept if value is None else {**kept, part: value})
        with pytest.raises(SeedFileError, match=r'damaged \(.*\); make it with: ik_train'):
            load_guess(planar, kind)


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


def test_solvers_start_at_the_guess(guess, tmp_path):
    path = tmp_path / 'guess.npz'
    with replaced_file(path) as file:
        write_guess(file, guess)
    poses = np.array(targets(guess.chain, 100, seed=62))
    options = iks.IkOptions(seed_source=guess.kind, seed_file=str(path))
    middle = measure_effort(iks.Solver(guess.chain), poses)
    learned = measure_effort(iks.Solver(guess.chain, options=options), poses)
    assert learned.solved == 1.0
    assert learned.searches <= middle.searches
    assert learned.iterations < 0.85 * middle.iterations


def test_explicit_seed_overrides_the_guess(planar_guess, tmp_path):
    path = tmp_path / 'guess.npz'
    with replaced_file(path) as file:
        write_guess(file, planar_guess)
    chain = planar_guess.chain
    options = iks.IkOptions(seed_source=planar_guess.kind, seed_file=str(path))
    (T,) = targets(chain, 1, seed=63)
    given = iks.Solver(chain).solve(T, chain.mid_range() + 0.1)
    with_guess = iks.Solver(chain, options=options).solve(T, chain.mid_range() + 0.1)
    np.testing.assert_array_equal(with_guess.q, given.q)


@pytest.fixture
def planar_urdf(tmp_path):
    return shutil.copy(arm_path('planar_6r'), tmp_path / 'arm.urdf')


@pytest.fixture
def few_poses(monkeypatch):
    """Checks the saved guess on fewer poses and methods, which is what takes time."""
    monkeypatch.setattr(train, '_CHECKED_POSES', 30)
    monkeypatch.setattr(train, '_METHODS', ('levenberg_marquardt',))


@pytest.mark.parametrize(('kind', 'module'), [('table', 'scipy'), ('network', 'sklearn')])
def test_makes_a_file_that_is_found_and_says_what_it_saves(
    planar_urdf, capsys, few_poses, kind, module
):
    pytest.importorskip(module)
    samples = ['--samples', '300'] if kind == 'network' else []
    assert ik_train([str(planar_urdf), '--base-link', 'base_link', '--kind', kind, *samples]) == 0
    path = planar_urdf.with_name(f'arm.base_link.tool0.{kind}.npz')
    output = capsys.readouterr().out
    assert f'Saved     {path}' in output
    rows = [line.split() for line in output.splitlines() if ' %' in line or '%  ' in line]
    (middle, learned) = rows
    assert middle[:2] == ['levenberg_marquardt', 'middle']
    assert learned[0] == kind
    assert float(learned[1]) < float(middle[2])  # iterations
    assert learned[4] == '100.0%'
    assert load_guess(Robot.from_urdf(planar_urdf).chain('base_link'), kind).kind == kind


def test_the_command_that_an_error_names_works(planar_urdf, capsys, few_poses, tmp_path):
    pytest.importorskip('scipy')
    chain = Robot.from_urdf(planar_urdf).chain(*ARM_TIPS['planar_6r'], locked={'joint_2': 0.3})
    path = tmp_path / 'my table.npz'
    with pytest.raises(SeedFileError) as caught:
        load_guess(chain, 'table', path)
    program, *words = shlex.split(str(caught.value).partition('make it with: ')[2])
    assert program == 'ik_train'
    assert ik_train([*words, '--samples', '200']) == 0
    assert load_guess(chain, 'table', path).postures.shape == (200, 5)


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['panda', '--tip-link', 'nose'], "unknown link 'nose'"),
        (['planar_6r', '--lock', 'elbow=1'], "unknown joint 'elbow'"),
        (['planar_6r', '--output', '/no/such/folder/table.npz'], 'cannot be written'),
    ],
)
def test_an_error_is_printed_and_nothing_is_saved(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ik_train(words) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert 'Saved' not in captured.out


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ([], 'URDF'),
        (['no_such_arm'], "there is no file 'no_such_arm'"),
        (['three_arms.urdf'], 'name the tip: one, two, three'),
        (['planar_6r', '--kind', 'oracle'], "'oracle'"),
        (['planar_6r', '--samples', '10'], 'from 100 to 1,000,000'),
        (['planar_6r', '--samples', 'many'], 'from 100 to 1,000,000'),
        (['planar_6r', '--lock', 'joint_1'], 'torso=0.1'),
        (['planar_6r', '--lock', 'joint_1=nan'], 'torso=0.1'),
        (['planar_6r', '--seed', '-1'], 'at least 0'),
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

    monkeypatch.setattr('ik_service.extras.learning.training.train_table', interrupted)
    assert ik_train([str(planar_urdf), '--base-link', 'base_link']) == 130
    assert 'stopped' in capsys.readouterr().err
    assert list(planar_urdf.parent.iterdir()) == [planar_urdf]
