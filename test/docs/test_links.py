"""Links between the pages, and from them to files of the repository, lead somewhere."""

import re
import unicodedata

import pytest
from support.chains import REPOSITORY

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
