"""URDF text that has been checked already, as a tree of XML elements."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat


def read_tree(text: str) -> Element:
    """
    Read the text of a robot as a tree of elements; prefixes of tags need not be declared.

    :param text: URDF text of a :class:`~ik_service.Robot`, so within the bounds of
        :mod:`ik_service.model.bounded_xml`.
    """
    builder = ElementTree.TreeBuilder()
    parser = expat.ParserCreate('utf-8')
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.Parse(text.strip().encode('utf-8'), True)
    return builder.close()
