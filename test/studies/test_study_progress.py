"""The progress bar."""

from __future__ import annotations

import io

from ik_service.common.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_there_is_a_bar_and_then_a_line():
    stream = Terminal()
    with ProgressBar('poses', 2000, stream) as bar:
        assert '  0%' in stream.getvalue()
        bar._drawn_at -= 1.0
        bar.update(1000)
        assert ' 50%' in stream.getvalue()
        assert '█' * 15 + '░' * 15 in stream.getvalue()
        bar.update(2000)
    assert stream.getvalue().rpartition('\r')[2].startswith('\x1b[Kposes: 2,000 of 2,000 in 0.')


def test_it_is_not_drawn_with_every_step():
    stream = Terminal()
    with ProgressBar('poses', 10_000, stream) as bar:
        for done in range(10_000):
            bar.update(done)
    assert stream.getvalue().count('\r') < 100


def test_in_a_file_there_is_only_the_line_at_the_end():
    stream = io.StringIO()
    with ProgressBar('poses', 3, stream) as bar:
        for done in (1, 2, 3):
            bar.update(done)
        assert stream.getvalue() == ''
    assert stream.getvalue().startswith('poses: 3 of 3 in 0.')
    assert stream.getvalue().count('\n') == 1
