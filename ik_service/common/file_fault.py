"""Faults of files, and of texts in YAML, in plain words with their place."""

from __future__ import annotations

import re

from ik_service.common.quoting import truncate

_PLAIN_WORDS = {  # of the faults that PyYAML tells
    "expected <block end>, but found '<scalar>'": 'text follows the end of a value',
    'expected <block end>.*': 'it is indented otherwise than the lines around it',
    "'<(stream|document) end>'": 'the end',
    'mapping values are not allowed here': "':' stands here where no key is; quote the text",
    r"could not determine a constructor for the tag ('[^']*')": r'the tag \1 is not known',
    'but found another document': 'a second document begins',
    'found unhashable key': 'a list or a section cannot be a key',
    'special characters are not allowed': 'it holds control characters',
    'that cannot start any token': 'that can begin nothing here',
    '<([a-z ]+)>': r'\1',
}


def file_fault(error: Exception) -> str:
    """
    Return in plain words why a file cannot be read, and where it is not what it has to be.

    :param error: an OSError, or one of Python or PyYAML about its content, a text in YAML.
    """
    if isinstance(error, OSError):
        return f'cannot be read: {error.strerror or error}'
    if isinstance(error, UnicodeDecodeError):
        return f'not UTF-8 text (byte {error.start})'
    mark = getattr(error, 'problem_mark', None)
    place = '' if mark is None else f' in line {mark.line + 1}, column {mark.column + 1}'
    reason = getattr(error, 'problem', None) or getattr(error, 'reason', None) or str(error)
    if isinstance(error, RecursionError):
        reason = 'it is nested too deeply'
    for theirs, ours in _PLAIN_WORDS.items():
        reason = re.sub(theirs, ours, reason)
    return f'no YAML{place}: {truncate(reason)}'
