"""The documentation site: links, what is made from the code for it, and that it can be built."""

from importlib.util import find_spec
import os
from pathlib import Path
import re
import subprocess
import sys
import unicodedata

import pytest
from support.chains import REPOSITORY
from support.scripts import load

DOCS = REPOSITORY / 'docs'
PACKAGE = REPOSITORY / 'ik_service'


def folders():
    """Return the rooms of the package: its folders, and those of ros/ and extras/."""
    split = ('ros', 'extras')
    found = {path.parent for path in PACKAGE.glob('*/__init__.py')}
    found -= {PACKAGE / folder for folder in split}
    for folder in split:
        found |= {path.parent for path in PACKAGE.glob(f'{folder}/*/__init__.py')}
    return {str(folder.relative_to(PACKAGE)) for folder in found}


def test_the_picture_of_the_rooms_shows_every_folder():
    drawer = load(DOCS / 'draw_rooms.py')
    assert {room.name for room in drawer.ROOMS} == folders()


def test_the_picture_of_the_rooms_is_what_its_script_draws():
    drawer = load(DOCS / 'draw_rooms.py')
    assert drawer.main(['--check']) == 0, 'run: python docs/draw_rooms.py'


def test_rooms_and_their_text_do_not_overlap():
    rooms = load(DOCS / 'draw_rooms.py').ROOMS
    for one in rooms:
        assert all(7 * len(line) < one.width for line in one.lines), one.name
        for other in rooms:
            apart = (
                one.x + one.width < other.x
                or other.x + other.width < one.x
                or one.y + one.height < other.y
                or other.y + other.height < one.y
            )
            assert apart or one is other, (one.name, other.name)


@pytest.fixture
def pages():
    pytest.importorskip('sphinx', reason="pip install -e '.[docs]'")
    return load(DOCS / '_ext' / 'generated_pages.py')


def test_the_parameter_table_has_every_parameter_of_the_configuration_file(pages):
    pytest.importorskip('rclpy', reason='ROS 2 is needed for the table of parameters')
    yaml = pytest.importorskip('yaml')
    text = (REPOSITORY / 'config' / 'ik_service.yaml').read_text(encoding='utf-8')
    ((_, content),) = yaml.safe_load(text).items()
    table = pages.parameter_table(pages.specifications(pages.PARAMETER_TABLES['ik_node']))
    names = set(re.findall(r'^\| `([^`]+)`', table, re.MULTILINE))
    assert names == set(flat(content['ros__parameters']))
    assert '| `publish_rate` | `100.0` | Commands a second' in table
    assert 'From 1 to 1000.' in table


def flat(values, prefix=''):
    """Return the names of nested parameters, with dots."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f'{prefix}{name}.')
        else:
            yield prefix + name


def test_the_lists_of_conformance_checks_have_every_check(pages):
    pytest.importorskip('rclpy', reason='ROS 2 is needed for the list of checks')
    from ik_service.extras.conformance.main import CHECKS

    listed, failing = pages.check_table(CHECKS), pages.expected_failures(CHECKS)
    for check in CHECKS:
        assert f'| `{check.name}` | {check.summary} |' in listed
        assert (f'| `{check.name}` | {check.moveit} |' in failing) == bool(check.moveit)
    titles = re.findall(r'^### (.*)$', listed, re.MULTILINE)
    assert len(titles) == len(set(titles)) > 5


def test_the_module_list_has_every_module_with_a_summary(pages):
    listed = set(re.findall(r'^`(\w+)`\n: \S', pages.module_list(), re.MULTILINE))
    assert {path.stem for path in PACKAGE.rglob('*.py')} - listed == {'__init__'}


@pytest.mark.slow
@pytest.mark.skipif(
    not all(map(find_spec, ('sphinx', 'myst_parser', 'furo', 'rclpy'))),
    reason="the site needs pip install -e '.[docs]' and ROS 2",
)
def test_the_site_builds_without_a_warning_and_without_foreign_addresses(tmp_path):
    site = os.environ.get('IK_SERVICE_SITE')  # .ci/run has built it, without a warning
    html = Path(site) if site else built(tmp_path)
    pages = list(html.rglob('*.html'))
    assert html / 'index.html' in pages
    for page in pages:
        text = page.read_text(encoding='utf-8')
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]+)"', text)
        loaded += re.findall(r'<link[^>]* rel="stylesheet"[^>]* href="([^"]+)"', text)
        assert not [url for url in loaded if '//' in url and not url.startswith('data:')], page


def built(tmp_path):
    """Build the site; return its folder."""
    command = [sys.executable, '-m', 'sphinx', '-b', 'html', '-W', '--keep-going', '-n', '-q']
    done = subprocess.run(
        [*command, '-d', tmp_path / 'doctrees', DOCS, tmp_path / 'html'],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return tmp_path / 'html'


PAGES = sorted(
    path
    for pattern in ('*.md', 'docs/*.md', 'docs/api/*.md')
    for path in REPOSITORY.glob(pattern)
    if path.name != 'methods_template.md'
)
CODE = re.compile(r'^(```|~~~).*?^\1|`[^`\n]*`', re.DOTALL | re.MULTILINE)
# GitHub's pages of the repository, such as the badge of CI, are not in it.
LINK = re.compile(r'\]\((?!https?:|mailto:|\.\./\.\./actions/)([^)#\s]*)(?:#([^)\s]+))?\)')


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = page.read_text(encoding='utf-8')
    headings = re.findall(r'^#+ (.*)$', text, re.MULTILINE)
    return {anchor(re.sub(r'[`*]', '', heading)) for heading in headings}


def anchor(heading):
    """Return GitHub's anchor of a heading."""
    kept = [c for c in heading.lower() if c in ' -_' or unicodedata.category(c)[0] in 'LN']
    return ''.join(kept).replace(' ', '-')


def links(page):
    """Return the relative links of a page, as pairs of a path and an anchor."""
    return LINK.findall(CODE.sub('', page.read_text(encoding='utf-8')))


@pytest.mark.parametrize('page', PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_relative_links_lead_to_files_and_headings(page):
    for target, heading in links(page):
        path = (page.parent / target).resolve() if target else page
        assert path.is_relative_to(REPOSITORY), target
        assert path.exists(), target
        if heading:
            assert heading in anchors(path), f'{target}#{heading}'


def test_all_pages_of_the_site_are_looked_at():
    assert {'README.md', 'start.md', 'node.md'} <= {path.name for path in PAGES}
    assert sum(len(links(page)) for page in PAGES) > 60
