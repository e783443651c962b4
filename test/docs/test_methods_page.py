"""docs/methods.md: its numbers are those of the CSV files, and what it refers to exists."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import re
import shutil

import pytest

import ik_service as iks
from ik_service.extras.studies.program import STUDY_NAMES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / 'docs'


def load(path):
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_every_figure_and_file_that_it_shows_exists():
    links = re.findall(r'\]\(([^)#]+)\)', PAGE)
    figures = [link for link in links if link.endswith('.png')]
    assert len(figures) > 10
    for link in links:
        assert link.startswith('https://') or (DOCS / link).is_file(), link


def test_every_method_strategy_and_study_is_explained():
    for name in iks.solver_names():
        assert f'## `{name}`' in PAGE
        assert f'figures/method-{name}.png' in PAGE
    for name in ('clamp', 'active_set', 'transform', 'penalty', 'ignore'):
        assert f'`{name}`' in PAGE
    for name in STUDY_NAMES:
        assert f'ik_study {name}' in PAGE or f'figures/{name}.png' in PAGE, name


def test_links_within_the_page_lead_somewhere():
    headings = [
        re.sub(r'[^\w\- ]', '', line.lstrip('# ').lower()).replace(' ', '-')
        for line in PAGE.splitlines()
        if line.startswith('#')
    ]
    for anchor in re.findall(r'\]\(#([^)]+)\)', PAGE):
        assert anchor in headings


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
