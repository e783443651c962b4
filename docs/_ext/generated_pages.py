"""Parts of pages that are made from the code at each build, into docs/generated."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.typing import ExtensionMetadata

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / 'ik_service'

PARAMETER_TABLES = {
    'ik_node': 'ik_service.ros.node.parameter_table',
    'ik_sim': 'ik_service.ros.sim.simulated_arm_node',
}
"""Modules that hold the parameters of a program, by its name."""

CHECK_TABLE = 'ik_service.extras.conformance.main'
"""Module that holds the checks of ik_conformance."""

CHECK_PARTS = ('conformance_checks', 'conformance_moveit')
"""Names of the parts of its page that are made from them."""

DOCUMENTED = frozenset({'ik_service.exceptions'})
"""Modules that have a page of their own."""

_FIELDS = ('name', 'default', 'description', 'bounds', 'choices', 'read_only', 'none')
_log = logging.getLogger(__name__)


def specifications(module: str) -> list[Any]:
    """
    Return the specifications of parameters that a module holds, in the order of its source.

    :param module: its name.
    """
    found = {spec.name: spec for spec in _specifications(vars(import_module(module)).values())}
    return list(found.values())


def _specifications(values: Iterable[object]) -> Iterator[Any]:
    for value in values:
        if all(hasattr(value, field) for field in _FIELDS) and not isinstance(value, type):
            if value.name:
                yield value
        elif isinstance(value, (tuple, list)):
            yield from _specifications(value)


def parameter_table(specs: Iterable[Any]) -> str:
    """
    Return parameters as a Markdown table.

    :param specs: their specifications.
    """
    rows = ['| Parameter | Default | Meaning |', '|---|---|---|']
    for spec in specs:
        cells = (f'`{spec.name}`', _default(spec.default), _meaning(spec))
        rows.append('| ' + ' | '.join(cell.replace('|', r'\|') for cell in cells) + ' |')
    return '\n'.join(rows) + '\n'


def _default(value: object) -> str:
    if value == '':
        return ''
    if isinstance(value, bool):
        return f'`{str(value).lower()}`'
    values = value if isinstance(value, list) else [value]
    return ', '.join(f'`{value}`' for value in values)


def _meaning(spec: Any) -> str:  # noqa: ANN401  any class with these fields
    notes = [spec.description]
    if spec.choices:
        notes.append('One of ' + ', '.join(f'`{choice}`' for choice in spec.choices if choice))
    if spec.bounds:
        low, high = spec.bounds
        notes.append(f'From {low:g} to {high:g}')
    if spec.none is not None and spec.none != '':
        notes.append(f"`{spec.none}` stands for the method's own default")
    if spec.read_only:
        notes.append('Fixed at the start')
    return '. '.join(notes) + '.'


def module_list(package: Path = PACKAGE) -> str:
    """
    Return every module with the summary line of its docstring, folder by folder.

    :param package: folder of the package.
    """
    text = []
    for folder in sorted({path.parent for path in package.rglob('*.py')}):
        name = '.'.join([package.name, *folder.relative_to(package).parts])
        modules = [path for path in sorted(folder.glob('*.py')) if path.stem != '__init__']
        text += [f'## `{name}`\n', f'{_summary(folder / "__init__.py")}\n']
        for path in modules:
            if f'{name}.{path.stem}' not in DOCUMENTED:
                text += [f'```{{py:module}} {name}.{path.stem}\n:no-index-entry:\n```\n']
            text += [f'`{path.stem}`\n: {_summary(path)}\n']
    return '\n'.join(text)


def _summary(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding='utf-8'))) or ''
    return ' '.join(docstring.split('\n\n')[0].split())


def check_table(checks: Iterable[Any]) -> str:
    """
    Return the checks of ``ik_conformance`` as Markdown, a table a section.

    :param checks: the checks.
    """
    lines: list[str] = []
    section = ''
    for check in checks:
        if check.section != section:
            section = check.section
            title = section[0].upper() + section[1:]
            lines += ['', f'### {title}', '', '| Check | Asks | From |', '|---|---|---|']
        lines.append(f'| `{check.name}` | {check.summary} | {check.source} |')
    return '\n'.join(lines).strip() + '\n'


def expected_failures(checks: Iterable[Any]) -> str:
    """
    Return the checks that MoveIt's published source is expected to fail, as a Markdown table.

    :param checks: the checks.
    """
    rows = [f'| `{check.name}` | {check.moveit} |' for check in checks if check.moveit]
    return '\n'.join(['| Check | Reason |', '|---|---|', *rows]) + '\n'


def write(app: Sphinx) -> None:
    """Write all generated parts into ``generated`` below the sources."""
    folder = Path(app.srcdir) / 'generated'
    folder.mkdir(exist_ok=True)
    for program, module in PARAMETER_TABLES.items():
        try:
            table = parameter_table(specifications(module))
        except ImportError as error:
            _log.warning('the parameters of %s need ROS 2 (%s)', program, error)
            table = '(this page was built without ROS 2)\n'
        _write(folder / f'{program}_parameters.md', table)
    _write(folder / 'modules.md', module_list())
    try:
        checks = import_module(CHECK_TABLE).CHECKS
        parts = check_table(checks), expected_failures(checks)
    except ImportError as error:
        _log.warning('the checks of ik_conformance need ROS 2 (%s)', error)
        parts = ('(this page was built without ROS 2)\n',) * 2
    for name, text in zip(CHECK_PARTS, parts, strict=True):
        _write(folder / f'{name}.md', text)


def _write(path: Path, text: str) -> None:
    """Write a file unless that is what it holds: Sphinx reads again what is newer."""
    if not path.exists() or path.read_text(encoding='utf-8') != text:
        path.write_text(text, encoding='utf-8')


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extension with Sphinx."""
    app.connect('builder-inited', write)
    return {'parallel_read_safe': True}
