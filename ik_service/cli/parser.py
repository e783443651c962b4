"""Command line that names the options closest to a misspelled one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from ik_service.common.quoting import quote, suggested


class Parser(argparse.ArgumentParser):
    """Parser that names a misspelled option before anything that it takes for missing."""

    def parse_args(  # type: ignore[override]
        self,
        args: Sequence[str],
        namespace: Any = None,  # noqa: ANN401 - argparse's
    ) -> argparse.Namespace:
        """Return the options; a misspelled one is an error."""
        known = self._option_string_actions
        for word in takewhile(lambda word: word != '--', args):
            option = word.partition('=')[0]
            short = self.allow_abbrev and any(name.startswith(option) for name in known)
            if option.startswith('--') and option not in known and not short:
                self.error(f'there is no option {quote(option)}; {suggested(option, known)}')
        return super().parse_args(args, namespace)
