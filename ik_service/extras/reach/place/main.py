"""Main function of ``ik_place``: finds places for a base, prints, writes and draws them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from ik_service.cli.solve.options import named_as, write_files
from ik_service.extras.reach.place.plot import draw_places
from ik_service.extras.reach.place.request import parse, PlaceRequest, read_request
from ik_service.extras.reach.place.text import place_json, place_lines
from ik_service.extras.reach.placement import PlaceSearch, search_places
from ik_service.extras.scale.solving import progress_of


def main(words: Sequence[str]) -> int:
    """Run the program; return 0 when all poses are reached from the best place, 1 when not."""
    arguments = parse(words)
    if arguments.plot is not None:
        from ik_service.drawing.figures import check_installed

        check_installed()
    request = read_request(arguments)
    options = {name: f'--{name}' for name in ('candidates', 'spacing', 'headings')}
    with named_as(**options), progress_of(True, None, ' places') as shown:
        search = search_places(
            request.chain,
            request.targets.poses,
            region=request.region,
            inverse_map=request.inverse_map,
            candidates=arguments.candidates,
            spacing=arguments.spacing,
            headings=arguments.headings,
            best=arguments.best,
            options=request.options,
            collisions=request.collisions,
            progress=shown.reach,
        )
    _show(arguments, request, search)
    return 0 if search.best.share == 1.0 else 1


def _show(arguments: Namespace, request: PlaceRequest, search: PlaceSearch) -> None:
    if arguments.json:
        print(place_json(request, search))
    else:
        print('\n'.join(place_lines(request, search)))
    writers: dict[str, tuple[str, Callable[[Path], object]]] = {
        'output': ('Places', lambda file: file.write_text(f'{place_json(request, search)}\n')),
        'plot': ('Plot', lambda file: draw_places(file, request, search)),
    }
    write_files(arguments, writers)
