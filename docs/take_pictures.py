"""
Take the pictures of the page: demo.png, panel.png and path.png in docs/figures.

Starts the IK node, a simulated Panda and the viewer, lets the arm follow the square of
``ik_demo``, and takes screenshots of the page in a headless Chromium. Needs a Chromium and
``pip install playwright``, but no graphics card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
import shutil
import time

from playwright.sync_api import Page, Playwright, sync_playwright

from ik_service.cli.demo.main import node_and_arm, ros_domain, viewer_program
from ik_service.cli.demo.poses import square, start_posture, Stop
from ik_service.common.child_process import ChildProcess
from ik_service.common.resources import urdf_path
from ik_service.exceptions import IkServiceError
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot
from ik_service.solvers.registry import DEFAULT_SOLVER

FIGURES = Path(__file__).resolve().parent / 'figures'
BASE_LINK, TIP_LINK = 'panda_link0', 'panda_hand_tcp'
SPEED = 0.5  # share of the joints' velocity limits, as in the demo
SIZE = (1400, 900)  # of the page [px]
PANEL_WIDTH = 390  # [px]
SOFTWARE_GL = ('--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader')
START_TIMEOUT = 300.0  # the first start compiles [s]
PAGE_TIMEOUT = 180.0  # drawing without a graphics card is slow [s]
DISCOVERY_TIME = 1.0  # from the discovery of a subscriber until messages surely reach it [s]
SETTLING_TIME = 3.0  # from a change until the page has drawn it [s]


def main() -> None:
    """Run the programs and write the pictures."""
    urdf = urdf_path('panda')
    chain = Robot.from_urdf(urdf).chain(BASE_LINK, TIP_LINK)
    ends = {'base_link': BASE_LINK, 'tip_link': TIP_LINK}
    start = dict(zip(chain.joint_names, start_posture(chain).tolist(), strict=True))
    with (
        ros_domain(),
        node_and_arm({'urdf': str(urdf)}, ends, start, DEFAULT_SOLVER, SPEED) as children,
        viewer_program(True, {'urdf': str(urdf), **ends}) as viewer,
        sync_playwright() as playwright,
    ):
        if viewer is None:
            raise IkServiceError("viser is needed: pip install 'ik_service[viewer]'")
        address = viewer.wait_for(r'ready: (\S+)', START_TIMEOUT)[1]
        page = open_page(playwright, address)
        programs = [*children, viewer]
        follow_square(chain, programs, lambda corners: [[*corners, *corners[:2]]])
        take_pictures(page)
        page.get_by_role('tab', name='Path').click()
        follow_square(chain, programs, partial(drawn, page))
        take_path_picture(page)


def open_page(playwright: Playwright, address: str) -> Page:
    """
    Open the page in a headless browser, and wait until it shows the arm.

    :param playwright: starts the browser, and ends it.
    :param address: of the page.
    """
    browser = playwright.chromium.launch(
        executable_path=shutil.which('chromium') or shutil.which('chromium-browser'),
        args=['--no-sandbox', *SOFTWARE_GL],
    )
    page = browser.new_page(viewport={'width': SIZE[0], 'height': SIZE[1]})
    page.set_default_timeout(1e3 * PAGE_TIMEOUT)
    page.goto(address)
    page.get_by_text('Connected to').first.wait_for(timeout=1e3 * START_TIMEOUT)
    page.wait_for_timeout(1e3 * SETTLING_TIME)
    for button in page.locator('.mantine-Notification-closeButton').all():  # on software rendering
        button.evaluate('button => button.click()')
    return page


def follow_square(
    chain: KinematicChain,
    children: Sequence[ChildProcess],
    rounds: Callable[[list[Stop]], Iterable[list[Stop]]],
) -> None:
    """
    Send the arm to corners of the square of the demo.

    :param chain: the arm's chain.
    :param children: programs that have to go on meanwhile.
    :param rounds: returns corners to go to, one list after the other, of all corners.
    """
    from ik_service.cli.demo.round import Demo
    from ik_service.ros.demo.demo_client import DemoClient

    def check() -> None:
        for child in children:
            child.check()

    with closing(DemoClient(BASE_LINK, TIP_LINK, check)) as client:
        while not client.is_ready():
            check()
            time.sleep(0.05)
        time.sleep(DISCOVERY_TIME)
        T_start = client.tip_pose(client.next_state().positions)
        description, stops = square(T_start, lambda T: client.solve(T).success)
        for corners in rounds(stops[:-1]):  # the last one is the middle
            Demo(chain, client, check).follow(description, corners)


def drawn(page: Page, corners: list[Stop]) -> Iterator[list[Stop]]:
    """
    Yield three corners, and add a waypoint when the arm is at each.

    :param page: the page, with the tab of paths.
    :param corners: all corners.
    """
    for corner in corners[:3]:
        yield [corner]
        page.wait_for_timeout(1e3 * SETTLING_TIME)
        page.get_by_role('button', name='Add waypoint').click()


def take_path_picture(page: Page) -> None:
    """
    Preview the path that was drawn, and write its picture.

    :param page: the page, with the tab of paths.
    """
    page.get_by_role('button', name='Preview').click()
    start = page.get_by_role('button', name='Go to the start')
    start.click()
    start.wait_for(state='hidden')
    page.get_by_text('Ready to execute').first.wait_for()
    page.get_by_role('button', name='Play').click()
    page.wait_for_timeout(1e3 * SETTLING_TIME)
    page.get_by_role('button', name='Pause').click()
    page.wait_for_timeout(1e3 * SETTLING_TIME)
    page.screenshot(path=FIGURES / 'path.png', timeout=1e3 * PAGE_TIMEOUT)


def take_pictures(page: Page) -> None:
    """
    Write the pictures.

    :param page: the page, with the arm at rest.
    """
    page.get_by_text('target reached').first.wait_for(timeout=1e3 * PAGE_TIMEOUT)
    page.wait_for_timeout(1e3 * SETTLING_TIME)
    page.screenshot(path=FIGURES / 'demo.png', timeout=1e3 * PAGE_TIMEOUT)
    page.get_by_role('tab', name='Options').click()
    page.wait_for_timeout(1e3 * SETTLING_TIME)
    left = SIZE[0] - PANEL_WIDTH
    panel = {'x': left, 'y': 0, 'width': PANEL_WIDTH, 'height': SIZE[1]}
    page.screenshot(path=FIGURES / 'panel.png', clip=panel, timeout=1e3 * PAGE_TIMEOUT)


if __name__ == '__main__':
    main()
