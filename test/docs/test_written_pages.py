"""Pages that scripts write: their numbers are those of the files of figures."""

import json
import re
import shutil

import pytest
from support.chains import REPOSITORY
from support.scripts import load

import ik_service as iks
from ik_service.extras.studies.program import STUDY_NAMES

DOCS = REPOSITORY / 'docs'

writer = load(DOCS / 'write_methods.py')
PAGE = (DOCS / 'methods.md').read_text(encoding='utf-8')


@pytest.fixture
def copy(tmp_path):
    """A folder with the template and the numbers, to change them in."""
    shutil.copy(DOCS / writer.TEMPLATE, tmp_path)
    (tmp_path / 'figures').mkdir()
    for path in (DOCS / 'figures').glob('*.csv'):
        shutil.copy(path, tmp_path / 'figures')
    return tmp_path


def test_the_page_is_what_the_template_and_the_numbers_give():
    assert writer.page(DOCS) == PAGE, 'run: python docs/write_methods.py'
    assert writer.main(['--check']) == 0


def test_another_number_gives_another_page(copy):
    assert writer.main([], copy) == 0
    assert writer.main(['--check'], copy) == 0
    path = copy / 'figures' / 'convergence.csv'
    text = path.read_text()
    (line,) = re.findall(r'^panda,levenberg_marquardt,.*$', text, re.MULTILINE)
    values = line.split(',')
    values[5] = '123.4'  # mean iterations
    path.write_text(text.replace(line, ','.join(values)))
    assert writer.main(['--check'], copy) == 1
    assert '123.4 iterations' in writer.page(copy)


def test_every_method_strategy_and_study_is_explained():
    for name in iks.solver_names():
        assert f'## `{name}`' in PAGE
        assert f'figures/method-{name}.png' in PAGE
    for name in ('clamp', 'active_set', 'transform', 'penalty', 'ignore'):
        assert f'`{name}`' in PAGE
    for name in STUDY_NAMES:
        assert f'ik_study {name}' in PAGE or f'figures/{name}.png' in PAGE, name


TABLE = 'arm,case,share,time\npanda,one two,12.345,1e-6\nur5e,one two,50,2e-6\n'


@pytest.fixture
def small(tmp_path):
    (tmp_path / 'figures').mkdir()
    (tmp_path / 'figures' / 'toy.csv').write_text(TABLE)

    def fill(template):
        (tmp_path / writer.TEMPLATE).write_text(template)
        return writer.page(tmp_path).split('-->\n\n')[1]

    return fill


@pytest.mark.parametrize(
    ('template', 'text'),
    [
        ('{{toy arm=panda: share .1f}}', '12.3'),
        ('{{toy arm=panda: 1e6*time .2f}} µs', '1.00 µs'),
        ("{{toy arm=ur5e case='one two': share}}", '50'),
        ('{{toy: max 1e6*time .0f}}', '2'),
        ('{{toy: min share .1f}}', '12.3'),
        ('{{table optional absent: *}}', '*(not measured yet)*'),
        (
            '{{table toy: arm; share .0f "reached [%]"}}',
            '| arm | reached [%] |\n| --- | --- |\n| `panda` | 12 |\n| `ur5e` | 50 |',
        ),
    ],
)
def test_fields(small, template, text):
    assert small(template) == text


@pytest.mark.parametrize(
    ('template', 'complaint'),
    [
        ('{{toy: share}}', '2 rows match'),
        ('{{toy arm=iiwa: share}}', 'no row matches'),
        ('{{toy arm=panda: speed}}', "no column 'speed' among arm, case, share, time"),
        ('{{toy robot=panda: share}}', "no column 'robot'"),
        ('{{absent arm=panda: share}}', 'there is no absent.csv'),
    ],
)
def test_what_the_files_do_not_hold_is_an_error(small, template, complaint):
    with pytest.raises(writer.TemplateError, match=complaint):
        small(template)


withstands = load(DOCS / 'write_withstands.py')
wire = load(DOCS / 'write_wire.py')


def test_the_page_of_faults_is_what_the_figures_give():
    assert withstands.main(['--check']) == 0, 'run: python docs/write_withstands.py'


def test_another_figure_gives_another_page(tmp_path):
    for name in (withstands.PAGE, withstands.FIGURES):
        shutil.copy(DOCS / name, tmp_path)
    figures = json.loads((tmp_path / withstands.FIGURES).read_text())
    figures['rows'][0]['lost'] = 12345
    (tmp_path / withstands.FIGURES).write_text(json.dumps(figures))
    assert withstands.main(['--check'], tmp_path) == 1
    assert withstands.main([], tmp_path) == 0
    assert '| 12,345 |' in (tmp_path / withstands.PAGE).read_text()
    assert withstands.main(['--check'], tmp_path) == 0


def test_nothing_was_lost_or_wrong():
    figures = json.loads((DOCS / withstands.FIGURES).read_text())
    assert [row['test'] for row in figures['rows'] if row['lost'] or row['wrong']] == []


def test_the_tables_of_the_wire_are_those_of_the_results(tmp_path):
    assert wire.main(['--check']) == 0, 'run: python docs/write_wire.py'
    (tmp_path / wire.PAGE).write_text('<!-- wire -->\nold\n<!-- end wire -->\n')
    assert wire.main(['--check'], tmp_path) == 1
    assert wire.main([], tmp_path) == 0
    assert wire.main(['--check'], tmp_path) == 0
    assert '| node killed |' in (tmp_path / wire.PAGE).read_text()


def test_nothing_leads_beyond_a_joint_limit_or_leaps_on_a_controller_that_replaces():
    late = {'10 % of the messages lost', 'every fifth message 30 ms late'}
    for (interface, controller, case), row in wire.read('wire').items():
        if interface != 'joint_trajectory':
            continue
        assert float(row['outside']) <= 0.0
        assert float(row['lasts']) <= 0.5
        if controller != 'blends' and case not in late:
            assert float(row['step']) <= 1.001
