"""The pinned wheels: every version has the digests of its files, and nothing else is installed."""

from importlib.metadata import metadata, PackageNotFoundError
import re

import machine
from packaging.specifiers import SpecifierSet
import pin
import pytest

PINS = """\
# A comment.
one==1.0 \\
    --hash=sha256:{a}
two-parts==2.0rc1
"""
COMPILED = """\
one==1.0 \\
    --hash=sha256:{b} \\
    --hash=sha256:{c}
two-parts==2.0rc1 \\
    --hash=sha256:{a}
    # via one
"""
DIGESTS = {name: name * 64 for name in 'abc'}


def test_digests_take_the_place_of_older_ones_and_comments_stay():
    hashes = pin.hashes_of(COMPILED.format(**DIGESTS))
    expected = ''.join(
        ['# A comment.\n', *COMPILED.format(**DIGESTS).replace('    # via one\n', '')]
    )
    written = pin.with_hashes(PINS.format(**DIGESTS), hashes)
    assert written == expected
    assert pin.with_hashes(written, hashes) == written


def test_a_version_without_digests_is_an_error():
    with pytest.raises(KeyError, match='three==3'):
        pin.with_hashes('three==3', pin.hashes_of(COMPILED.format(**DIGESTS)))


@pytest.mark.parametrize('name', ['build', 'common', *machine.DISTROS])
def test_every_pin_has_digests(name):
    text = (pin.HERE / f'requirements-{name}.txt').read_text(encoding='utf-8')
    hashes = pin.hashes_of(text)
    assert set(hashes) == {f'{name}=={version}' for name, version in pin.pins_of(text).items()}
    assert all(hashes.values()), [name for name, digests in hashes.items() if not digests]
    # Nothing that pip would take without a digest, or from elsewhere.
    rest = [line for line in text.splitlines() if line and not line.startswith('#')]
    line = re.compile(r'[a-z0-9._-]+==\S+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?')
    assert [each for each in rest if not line.fullmatch(each)] == []


@pytest.mark.parametrize('distro', machine.DISTROS)
def test_no_package_is_pinned_twice(distro):
    names = [
        name
        for file in ('build', 'common', distro)
        for name in pin.pins_of(
            (pin.HERE / f'requirements-{file}.txt').read_text(encoding='utf-8')
        )
    ]
    assert len(names) == len(set(names))


def test_the_pinned_packages_take_the_first_release_of_the_oldest_python():
    oldest = '.'.join(map(str, machine.PYTHONS[0])) + '.0'
    text = (pin.HERE / 'requirements-common.txt').read_text(encoding='utf-8')
    demands = {name: _python_of(name) for name in pin.pins_of(text)}
    assert any(demands.values())
    assert {
        name: demand for name, demand in demands.items() if oldest not in SpecifierSet(demand)
    } == {}


def _python_of(name):
    """Versions of Python that an installed package asks for; any where it is not installed."""
    try:
        return metadata(name).get('Requires-Python', '')
    except PackageNotFoundError:
        return ''
