"""The package as a whole: one version everywhere, and a cheap import."""

import copy
from dataclasses import fields, is_dataclass
from itertools import pairwise
import json
from pathlib import Path
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from support.chains import arm
import yaml

import ik_service

ROOT = Path(__file__).resolve().parent.parent
IMPORT_LIMIT = 0.4  # [s]

_IMPORT_PROBE = """
import json, sys, time
before = set(sys.modules)
start = time.process_time()
import ik_service
seconds = time.process_time() - start
print(json.dumps([seconds, sorted(set(sys.modules) - before)]))
"""


def _run_setup(*arguments):
    """Return what setup.py prints, on its last lines."""
    done = subprocess.run(
        [sys.executable, 'setup.py', '--quiet', *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def _import_in_new_interpreter():
    """Return how long the import takes [s] and the names of the modules it loads."""
    done = subprocess.run(
        [sys.executable, '-c', _IMPORT_PROBE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seconds, modules = json.loads(done.stdout)
    return seconds, modules


def _manifest():
    return ElementTree.parse(ROOT / 'package.xml').getroot()


def test_version_is_the_same_everywhere():
    version = _manifest().findtext('version')
    assert ik_service.__version__ == version
    assert _run_setup('--version')[-1] == version


def test_minimum_version_of_python_is_the_same_everywhere():
    places = {
        'setup.py': r"python_requires='>=(3\.\d+)'",
        'pyproject.toml': r'python_version = "(3\.\d+)"',
        'README.md': r'Python (3\.\d+) or later',
        'docs/start.md': r'Python (3\.\d+) or later',
    }
    found = {
        name: re.search(pattern, (ROOT / name).read_text(encoding='utf-8'))[1]
        for name, pattern in places.items()
    }
    assert {*found.values()} == {'3.11'}, found
    assert 'target-version = "py311"' in (ROOT / 'pyproject.toml').read_text(encoding='utf-8')


def test_changelog_begins_with_the_current_version():
    lines = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8').splitlines()
    headings = [above for above, line in pairwise(lines) if set(line) == {'-'}]
    released = [heading for heading in headings if heading != 'Forthcoming']
    assert released[0].split()[0] == _manifest().findtext('version')
    assert 'Forthcoming' not in headings[1:]


def test_citation_is_of_the_current_release():
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text(encoding='utf-8'))
    maintainer = _manifest().find('maintainer')
    assert citation['version'] == _manifest().findtext('version')
    assert citation['license'] == _manifest().findtext('license')
    assert citation['authors'] == [{'name': maintainer.text, 'email': maintainer.get('email')}]
    changelog = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    assert f'\n{citation["version"]} ({citation["date-released"]})\n---' in changelog


def test_versions_that_get_fixes_begin_with_the_current_one():
    policy = (ROOT / 'SECURITY.md').read_text(encoding='utf-8')
    minor = _manifest().findtext('version').rpartition('.')[0]
    assert re.search(r'^\| ([\d.]+) \| yes \|$', policy, re.MULTILINE)[1] == minor


def test_modules_that_are_called_public_exist():
    page = (ROOT / 'docs' / 'stability.md').read_text(encoding='utf-8')
    names = re.findall(r'`(ik_service[.\w]*)`', page)
    assert len(names) >= 5
    for name in names:
        path = ROOT / name.removesuffix('.__all__').removesuffix('.IkNode').replace('.', '/')
        assert path.is_dir() or path.with_suffix('.py').is_file(), name


def test_rosdoc2_builds_the_pages():
    name = _manifest().findtext('export/rosdoc2')
    head, settings = yaml.safe_load_all((ROOT / name).read_text(encoding='utf-8'))
    assert head == {'type': 'rosdoc2 config', 'version': 1}
    (builder,) = settings['builders']
    assert (ROOT / builder['sphinx']['sphinx_sourcedir'] / 'conf.py').is_file()


def test_source_distribution_names_files_that_exist():
    first = (ROOT / 'MANIFEST.in').read_text(encoding='utf-8').splitlines()[0]
    for name in first.removeprefix('include ').split():
        assert (ROOT / name).is_file(), name


def test_workflow_runs_what_exists_and_marks_what_may_fail():
    text = (ROOT / '.github' / 'workflows' / 'ci.yml').read_text(encoding='utf-8')
    for job in yaml.safe_load(text)['jobs'].values():
        matrix = job['strategy']['matrix']
        entries = matrix.pop('include')
        assert job['continue-on-error'] == '${{ matrix.may_fail }}'
        assert matrix['may_fail'] == [False]
        for entry in entries:
            assert entry.keys() == matrix.keys()
            assert isinstance(entry['may_fail'], bool)
    for path in re.findall(r'(?:test|\.ci)/[\w./]+', text):
        assert (ROOT / path).exists(), path


def test_name_is_the_same_everywhere():
    assert _manifest().findtext('name') == _run_setup('--name')[-1] == ik_service.__name__
    assert (ROOT / 'resource' / ik_service.__name__).is_file()


def test_manifest_names_every_message_package_that_is_imported():
    sources = [path.read_text(encoding='utf-8') for path in (ROOT / 'ik_service').rglob('*.py')]
    lines = [line.split() for text in sources for line in text.splitlines()]
    imported = {words[1].split('.')[0] for words in lines if words[:1] in (['import'], ['from'])}
    packages = {name for name in imported if name.endswith(('_msgs', '_srvs', '_interfaces'))}
    declared = {element.text for element in _manifest() if element.tag == 'exec_depend'}
    assert packages <= declared


def test_import_pulls_in_neither_ros_nor_the_compiler():
    _, modules = _import_in_new_interpreter()
    loaded = {name.split('.')[0] for name in modules}
    assert 'ik_service' in loaded
    foreign = {'rclpy', 'moveit_msgs', 'ament_index_python', 'launch', 'numba', 'scipy'}
    assert not loaded & foreign


def test_the_errors_are_reached_by_the_name_of_the_package(monkeypatch):
    monkeypatch.delattr(ik_service, 'exceptions', raising=False)
    assert issubclass(ik_service.exceptions.ChainError, ik_service.exceptions.IkServiceError)


def test_import_is_quick():
    fastest = min(_import_in_new_interpreter()[0] for _ in range(3))
    assert fastest < IMPORT_LIMIT


@pytest.mark.parametrize('name', ik_service.__all__)
def test_public_names_can_be_loaded(name):
    assert getattr(ik_service, name) is not None


def test_public_values_that_hold_arrays_can_be_compared_and_hashed():
    """Compared by their fields, they would ask for the truth of an array, and raise its error."""
    by_fields = [
        name
        for name in ik_service.__all__
        if is_dataclass(kind := getattr(ik_service, name))
        and kind.__dataclass_params__.eq
        and any('ndarray' in str(field.type) for field in fields(kind))
    ]
    assert not by_fields
    chain = arm('ur5e')
    target = chain.forward(chain.mid_range())
    results = [
        ik_service.solve_ik(chain, target, options=ik_service.IkOptions(record_trace=True)),
        ik_service.solve_ik_batch(chain, [target]),
        ik_service.solve_path(chain, [target]),
    ]
    for result in results:
        assert result in [copy.deepcopy(result), result]
        assert {result: 1}[result] == 1
