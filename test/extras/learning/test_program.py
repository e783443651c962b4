"""``ik_train`` as a user runs it."""

from pathlib import Path
import shlex
import shutil

import pytest
from support.chains import arm_path, ARM_TIPS
from support.tree_robots import tree_xml

from ik_service import Robot
from ik_service.cli.programs import ik_train
from ik_service.exceptions import SeedFileError
from ik_service.extras.learning import program as train
from ik_service.extras.learning.loading import load_guess


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
        (['no_such_arm'], 'no file of that name, and no arm of this package: panda'),
        (['three_arms.urdf'], 'name the tip: one, two, three'),
        (['panda', '--tip-link', 'nose'], "unknown link 'nose'"),
        (['planar_6r', '--lock', 'elbow=1'], "unknown joint 'elbow'"),
        (['planar_6r', '--output', '/no/such/folder/table.npz'], 'cannot be written'),
    ],
)
def test_an_error_is_printed_and_nothing_is_saved(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path('three_arms.urdf').write_text(tree_xml('base r:one', 'base r:two', 'base r:three'))
    assert ik_train(words) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert 'Saved' not in captured.out


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ([], 'URDF'),
        (['planar_6r', '--kind', 'oracle'], "'oracle'"),
        (['planar_6r', '--samples', '10'], 'from 100 to 1,000,000'),
        (['planar_6r', '--samples', 'many'], 'from 100 to 1,000,000'),
        (['planar_6r', '--lock', 'joint_1'], 'torso=0.1'),
        (['planar_6r', '--lock', 'joint_1=nan'], 'torso=0.1'),
        (['planar_6r', '--seed', '-1'], 'at least 0'),
    ],
)
def test_an_invalid_option_is_refused_with_exit_code_2(words, message, capsys):
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


def test_help_names_options_and_exit_codes(capsys):
    with pytest.raises(SystemExit) as ending:
        ik_train(['--help'])
    assert ending.value.code == 0
    text = capsys.readouterr().out
    assert "seed_source='table'" in text
    assert 'exit code: 0 saved' in text
