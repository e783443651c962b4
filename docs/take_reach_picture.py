"""
Take the picture of the page with a map of the reach: docs/figures/reach_page.png.

Starts the IK node, a simulated Panda and the viewer, loads a capability map of the arm, cut open,
and takes a screenshot of the page. The map is made first, which takes minutes, and kept in the
folder ``build``. Needs what :mod:`take_pictures` needs, and the extra ``scale``.
"""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from take_pictures import (
    BASE_LINK,
    FIGURES,
    open_page,
    PAGE_TIMEOUT,
    SETTLING_TIME,
    SIZE,
    SPEED,
    START_TIMEOUT,
    TIP_LINK,
)

from ik_service.cli.demo.main import node_and_arm, ros_domain, viewer_program
from ik_service.cli.demo.poses import start_posture
from ik_service.common.resources import urdf_path
from ik_service.extras.reach import capability_map
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.solvers.registry import DEFAULT_SOLVER

MAP = 'panda.zarr'
BUILD = Path(__file__).resolve().parents[1] / 'build' / 'reach_picture'
SPACING, ORIENTATIONS = 0.05, 24  # of the map [m]
ZOOM = 200  # of the mouse wheel [px]


def main() -> None:
    """Make the map, run the programs and write the picture."""
    spec = ChainSpec.of(urdf_path('panda'), BASE_LINK, TIP_LINK)
    chain = spec.build().chain
    BUILD.mkdir(parents=True, exist_ok=True)
    os.chdir(BUILD)  # so that the page shows a short path
    made = capability_map(spec, 'store', spacing=SPACING, orientations=ORIENTATIONS)
    made.save(MAP)
    start = dict(zip(chain.joint_names, start_posture(chain).tolist(), strict=True))
    ends = {'base_link': BASE_LINK, 'tip_link': TIP_LINK}
    source = {'urdf': str(urdf_path('panda'))}
    with (
        ros_domain(),
        node_and_arm(source, ends, start, DEFAULT_SOLVER, SPEED),
        viewer_program(wanted=True, robot={**source, **ends}) as viewer,
        sync_playwright() as playwright,
    ):
        address = viewer.wait_for(r'ready: (\S+)', START_TIMEOUT)[1]
        page = open_page(playwright, address)
        load(page)
        page.screenshot(path=FIGURES / 'reach_page.png', timeout=1e3 * PAGE_TIMEOUT)


def load(page: Page) -> None:
    """
    Load the map, and cut it open along the middle of the arm.

    :param page: the page.
    """
    page.get_by_role('tab', name='Reach').click()
    # The page does not tie this label to its field.
    page.locator("xpath=//label[.='Map']/following::input[1]").fill(MAP)
    page.get_by_role('button', name='Load').click()
    page.get_by_text('positions').first.wait_for(timeout=1e3 * PAGE_TIMEOUT)
    page.get_by_role('textbox', name='Cut').or_(page.get_by_label('Cut')).first.click()
    page.get_by_role('option', name='y from').click()
    page.get_by_role('button', name='Load').scroll_into_view_if_needed()
    page.mouse.move(SIZE[0] / 3, SIZE[1] / 2)
    page.mouse.wheel(0, ZOOM)
    page.wait_for_timeout(1e3 * SETTLING_TIME)


if __name__ == '__main__':
    main()
