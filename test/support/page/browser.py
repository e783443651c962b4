"""Headless Chromium for the tests of the page, and pictures of what it shows."""

from contextlib import contextmanager
import fcntl
import io
import re
import shutil
import time

import numpy as np
import pytest
from support.chains import REPOSITORY

ARTEFACTS = REPOSITORY / 'build' / 'test-artefacts'
VIEWPORT = {'width': 800, 'height': 512}  # [px]; large ones are slow without a graphics card
PATIENCE = 300.0  # with a page: without a graphics card a picture takes seconds, or more [s]
WEBGL = ('--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader')


@contextmanager
def browser(*options):
    """Start Chromium; skip the test where it or Playwright is not installed."""
    playwright = pytest.importorskip(
        'playwright.sync_api', reason="playwright is not installed: pip install 'playwright'"
    )
    program = shutil.which('chromium') or shutil.which('chromium-browser')
    if program is None:
        pytest.skip('Chromium is not installed; on Debian: sudo apt install chromium')
    with _alone(), playwright.sync_playwright() as running:
        arguments = ['--no-sandbox', *WEBGL, *options]
        chromium = running.chromium.launch(executable_path=program, args=arguments)
        yield chromium
        chromium.close()


@contextmanager
def _alone():
    """Wait for the browsers of other workers: without a graphics card each needs a core."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    with (ARTEFACTS / 'browser.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class View:
    """The viewer's page at an address in a browser."""

    def __init__(self, chromium, address):
        self.page = chromium.new_page(viewport=VIEWPORT)
        self.page.set_default_timeout(1e3 * PATIENCE)
        self.errors = []
        self.received = []  # times at which messages came [s]
        self.page.on('pageerror', lambda error: self.errors.append(error))
        self.page.on('websocket', self._listen)
        self.page.goto(address)
        self.wait_for('Connected to|Waiting for|IK node is|No joint states')

    def _listen(self, socket):
        socket.on('framereceived', lambda _payload: self.received.append(time.monotonic()))

    def wait_for(self, pattern, timeout=PATIENCE):
        """Wait until a text is to be seen."""
        self.page.get_by_text(re.compile(pattern)).first.wait_for(timeout=1e3 * timeout)

    def text(self):
        return self.page.locator('body').inner_text()

    def close_notices(self):
        """Close what viser says about rendering without a graphics card."""
        for button in self.page.locator('.mantine-Notification-closeButton').all():
            button.evaluate('button => button.click()')

    def canvas(self):
        """Left, top, width and height of the scene [px]."""
        box = self.page.locator('canvas').first.bounding_box()
        return box['x'], box['y'], box['width'], box['height']

    def shot(self, name):
        """Take a picture of the page, keep it, and return the scene in it (height, width, 3)."""
        from PIL import Image

        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        data = self.page.screenshot(path=ARTEFACTS / f'{name}.png')
        left, top, width, height = map(round, self.canvas())
        image = np.array(Image.open(io.BytesIO(data)).convert('RGB'), dtype=int)
        return image[top : top + height, left : left + width]

    def drag(self, start, end, steps=8):
        """Drag with the mouse from a point of the scene to another one [px]."""
        left, top, _, _ = self.canvas()
        mouse = self.page.mouse
        mouse.move(left + start[0], top + start[1])
        self.page.wait_for_timeout(500)  # the gizmo looks for the pointer in a frame, and these
        mouse.down()
        self.page.wait_for_timeout(300)  # take long without a graphics card
        for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
            x, y = np.array(start) + share * (np.array(end) - np.array(start))
            mouse.move(left + x, top + y)
            self.page.wait_for_timeout(100)
        mouse.up()


def disc(picture, center, radius):
    """Pixels (k, 3) of a picture around a point, from left and top [px]."""
    height, width, _ = picture.shape
    y, x = np.ogrid[:height, :width]
    return picture[(x - center[0]) ** 2 + (y - center[1]) ** 2 <= radius**2]


def changed_pixels(before, after, threshold=12):
    """Number of pixels in which two pictures differ visibly."""
    return int((np.abs(before - after).max(axis=-1) > threshold).sum())


def pixels(picture, color):
    """
    How many pixels have a colour.

    Yellow are places that are reached with all orientations, red bodies in contact, sandy objects.
    """
    red, green, blue = np.moveaxis(picture, -1, 0)
    found = {
        'yellow': (red > 180) & (green > 160) & (blue < 120),
        'red': (red > 130) & (green < 120) & (blue < 0.6 * red),
        'sandy': (red - green > 4) & (green - blue > 10) & (red - blue < 90),
    }
    return int(found[color].sum())


def project(points, eye, look_at, field_of_view, size):
    """Project points (..., 3) as an upright camera sees them: (..., 2) [px] from left and top."""
    forward = (look_at - eye) / np.linalg.norm(look_at - eye)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    seen = (np.asarray(points) - eye) @ np.array([right, np.cross(forward, right), forward]).T
    scale = size[1] / 2 / np.tan(field_of_view / 2)
    return seen[..., :2] / seen[..., 2:] * scale + np.array(size) / 2
