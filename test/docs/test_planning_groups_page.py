"""The program on planning groups in docs/python.md prints what the page shows."""

import contextlib
import io
import re

from support.chains import REPOSITORY

import ik_service


def test_the_program_on_planning_groups_prints_what_the_page_says(monkeypatch):
    page = (REPOSITORY / 'docs/python.md').read_text()
    section = page.partition('## Planning groups\n')[2].partition('\n## ')[0]
    program, shown = re.findall(r'```(?:python)?\n(.*?)```', section, re.DOTALL)
    monkeypatch.chdir(REPOSITORY)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {'iks': ik_service})
    assert printed.getvalue() == shown
