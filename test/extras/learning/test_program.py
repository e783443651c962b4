"""``ik_train`` as a user runs it."""

from pathlib import Path
import shlex
import shutil

import numpy as np
import pytest
from support.chains import arm, arm_path, ARM_TIPS, targets
from support.urdf_texts import tree_xml

import ik_service as iks
from ik_service import Robot
from ik_service.cli.programs import ik_train
from ik_service.exceptions import SeedFileError
from ik_service.extras.learning import program as train
from ik_service.extras.learning.guess_file import load_guess, replaced_file, write_guess
from ik_service.extras.learning.program import measure_effort


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
def urdf(tmp_path):
    return shutil.copy(arm_path('planar_6r'), tmp_path / 'arm.urdf')


@pytest.fixture
def few_poses(monkeypatch):
    """Checks the saved guess on fewer poses and methods, which is what takes time."""
    monkeypatch.setattr(train, '_CHECKED_POSES', 30)
    monkeypatch.setattr(train, '_METHODS', ('levenberg_marquardt',))


@pytest.mark.parametrize(('kind', 'module'), [('table', 'scipy'), ('network', 'sklearn')])
def test_makes_a_file_that_is_found_and_says_what_it_saves(urdf, capsys, few_poses, kind, module):
    pytest.importorskip(module)
    samples = ['--samples', '300'] if kind == 'network' else []
    assert ik_train([str(urdf), '--base-link', 'base_link', '--kind', kind, *samples]) == 0
    path = urdf.with_name(f'arm.base_link.tool0.{kind}.npz')
    output = capsys.readouterr().out
    assert f'Saved     {path}' in output
    rows = [line.split() for line in output.splitlines() if ' %' in line or '%  ' in line]
    (middle, learned) = rows
    assert middle[:2] == ['levenberg_marquardt', 'middle']
    assert learned[0] == kind
    assert float(learned[1]) < float(middle[2])  # iterations
    assert learned[4] == '100.0%'
    assert load_guess(Robot.from_urdf(urdf).chain('base_link'), kind).kind == kind


def test_the_command_that_an_error_names_works(urdf, capsys, few_poses, tmp_path):
    pytest.importorskip('scipy')
    chain = Robot.from_urdf(urdf).chain(*ARM_TIPS['planar_6r'], locked={'joint_2': 0.3})
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


def test_ctrl_c_saves_nothing(urdf, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr('ik_service.extras.learning.training.train_table', interrupted)
    assert ik_train([str(urdf), '--base-link', 'base_link']) == 130
    assert 'stopped' in capsys.readouterr().err
    assert list(urdf.parent.iterdir()) == [urdf]
