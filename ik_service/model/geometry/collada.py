"""Unit of length of Collada files, which their readers pass over."""

from __future__ import annotations

import codecs
import math
import re
from typing import BinaryIO

_HEAD = 2**20  # bytes from the start within which the <asset> of a file ends
_COMMENT = re.compile(rb'<!--.*?-->', re.DOTALL)
_ASSET = re.compile(rb'<(?:\w+:)?asset\b.*?</(?:\w+:)?asset\s*>', re.DOTALL)
_UNIT = re.compile(rb'<(?:\w+:)?unit\b[^>]*?\bmeter\s*=\s*["\']([^"\']*)["\']', re.DOTALL)


def collada_unit(file: BinaryIO) -> float:
    """
    Return the metres of a unit of a Collada file.

    Of the ``<asset>`` of a document its ``<unit>`` counts, and ``<up_axis>`` does not: a URDF says
    itself how a mesh is turned, and RViz turns none either.

    :param file: the file, open at its start; it is there again afterwards.
    :returns: 1 where the file states no unit.
    :raises ValueError: the unit is no length.
    """
    head = file.read(_HEAD)
    file.seek(0)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        head = head.decode('utf-16', 'replace').encode()
    head = _COMMENT.sub(b'', head)
    asset = _ASSET.search(head)
    found = _UNIT.search(asset[0]) if asset else None
    if found is None:
        return 1.0
    text = found[1].decode('ascii', 'replace').strip()
    try:
        unit = float(text)
    except ValueError:
        unit = math.nan
    if not 0.0 < unit < math.inf:
        raise ValueError(f'its <unit meter="{text[:40]}"> is no length')
    return unit
