"""Arguments of a xacro file from one text, written as for the program ``xacro``."""

from __future__ import annotations

import shlex

from ik_service.common.quoting import quote
from ik_service.exceptions import OptionError

LONGEST_TEXT = 10_000
"""Characters of the text, at most."""

XACRO_HELP = "arguments of a xacro file, in one text: 'ur_type:=ur5e name:=arm'"
"""Help text of the option ``--xacro-args`` of programs."""

_SIGN = ':='


def parse_xacro_args(text: str, option: str = 'xacro_args') -> dict[str, str]:
    """
    Parse the arguments of a xacro file, such as ``'ur_type:=ur5e name:=left_arm'``.

    :param text: arguments with blanks between them; a value with blanks stands in quotation marks,
        as in a shell. May be empty.
    :param option: name of the option or parameter, for the message.
    :returns: values by name.
    :raises OptionError: a part of it is no name, ``:=`` and a value, a name stands twice, or
        quotation marks do not match.
    """
    if len(text) > LONGEST_TEXT:
        raise OptionError(option, f'has {len(text)} characters; at most {LONGEST_TEXT} are taken')
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise OptionError(option, f'{quote(text)} cannot be read: {error}') from error
    arguments: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition(_SIGN)
        if not name or not sign:
            raise OptionError(
                option, f"has to look like 'ur_type:=ur5e name:=arm', but has {quote(word)}"
            )
        if name in arguments:
            raise OptionError(option, f'names {quote(name)} twice')
        arguments[name] = value
    return arguments
