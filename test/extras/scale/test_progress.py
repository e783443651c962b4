"""Progress of large batches: on a terminal, elsewhere, and told to a function."""

from __future__ import annotations

import io

import pytest

from ik_service.extras.scale.progress import progress_of


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    def isatty(self):
        return True


def shown(monkeypatch, choice, stream, count=1000):
    pytest.importorskip('tqdm', reason='tqdm is not installed (extra scale)')
    monkeypatch.setattr('sys.stderr', stream)
    with progress_of(choice, count) as progress:
        progress.skip(600)
        progress.advance(300)
    return stream.getvalue()


def test_bar_shows_rate_and_time_left_on_a_terminal(monkeypatch):
    text = shown(monkeypatch, True, Terminal())
    assert ' 900/1.00k' in text
    assert ' poses/s' in text
    assert '<' in text


def test_bar_without_a_known_number(monkeypatch):
    assert '900 poses' in shown(monkeypatch, True, Terminal(), count=None)


@pytest.mark.parametrize(('choice', 'stream'), [(True, io.StringIO), (False, Terminal)])
def test_nothing_is_shown_elsewhere_or_unasked(monkeypatch, choice, stream):
    assert shown(monkeypatch, choice, stream()) == ''


def test_nothing_is_shown_where_there_is_no_stream(monkeypatch):
    closed = Terminal()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr('sys.stderr', stream)
        with progress_of(True, 10) as progress:
            progress.skip(4)
            progress.advance(6)


def test_what_was_there_before_is_not_in_the_rate(monkeypatch):
    bars = []
    tqdm = pytest.importorskip('tqdm', reason='tqdm is not installed (extra scale)')

    def kept(*words, **settings):
        bars.append(tqdm.std.tqdm(*words, **settings))
        return bars[-1]

    monkeypatch.setattr(tqdm, 'tqdm', kept)
    shown(monkeypatch, True, Terminal())
    assert (bars[0].n, bars[0].initial) == (900, 600)


def test_function_is_told_all_that_is_done():
    told = []
    with progress_of(lambda done, count: told.append((done, count)), 10) as progress:
        progress.skip(4)
        progress.advance(6)
    assert told == [(4, 10), (10, 10)]
