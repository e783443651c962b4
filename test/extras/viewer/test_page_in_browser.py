"""The page and foreign ones side by side in a real browser: which of them reaches the server."""

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import threading

import pytest
from support.page.browser import browser, VIEWPORT

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

import viser

from ik_service.extras.viewer import page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SLOW = 60_000.0  # for what is drawn without a graphics card [ms]
EVIL = 'evil.example'  # a name that resolves to this machine
SOCKET = """
    ([address, protocol]) => new Promise(resolve => {
        const socket = new WebSocket(address, protocol);
        socket.onopen = () => resolve('open');
        socket.onerror = () => resolve('refused');
    })
"""


@pytest.fixture(scope='module')
def chromium():
    with browser(f'--host-resolver-rules=MAP {EVIL} 127.0.0.1') as running:
        yield running


class Foreign(BaseHTTPRequestHandler):
    """Another server on this machine, which would take over the page if it were let."""

    def do_GET(self):
        self.server.asked.append(self.path)
        body = self.server.content.encode()
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.send_header('Access-Control-Allow-Origin', '*')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def foreign():
    with ThreadingHTTPServer(('127.0.0.1', 0), Foreign) as server:
        server.content, server.asked = '<p>foreign</p>', []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@contextmanager
def serving(host='127.0.0.1'):
    """A page with a button that counts how often it was pressed."""
    served = page.serve(host, 0, False)
    served.server.pressed = []
    button = served.server.gui.add_button('Press me')
    button.on_click(lambda _: served.server.pressed.append(1))
    try:
        yield served
    finally:
        page.close(served.server)


@pytest.fixture(scope='module')
def served():
    with serving() as running:
        yield running


@contextmanager
def opened(chromium, address):
    context = chromium.new_context(viewport=VIEWPORT)
    tab = context.new_page()
    tab.said = []
    tab.on('console', lambda message: tab.said.append(message.text))
    try:
        tab.goto(address)
        yield tab
    finally:
        context.close()


def port(served):
    return served.server.get_port()


def answer(tab, address):
    """Whether a page may open a websocket."""
    return tab.evaluate(SOCKET, [address, f'viser-v{viser.__version__}'])


def until(tab, condition):
    """Whether a condition comes true, while the page lives."""
    for _ in range(600):
        if condition():
            return True
        tab.wait_for_timeout(100)
    return False


def press(tab, served):
    before = len(served.server.pressed)
    tab.get_by_text('Press me').first.click(timeout=SLOW)
    return until(tab, lambda: len(served.server.pressed) > before)


def test_the_page_works_under_its_content_security_policy(chromium, served):
    with opened(chromium, served.address) as tab:
        assert press(tab, served)
        assert not [text for text in tab.said if 'Content Security Policy' in text]


@pytest.mark.parametrize('name', ['127.0.0.1', 'localhost', EVIL])
def test_a_foreign_page_opens_no_websocket(chromium, served, foreign, name):
    with opened(chromium, f'http://{name}:{foreign.server_port}/') as tab:
        for target in ('127.0.0.1', 'localhost', EVIL):
            assert answer(tab, f'ws://{target}:{port(served)}') == 'refused'


def test_the_page_is_not_shown_in_a_foreign_one(chromium, served, foreign):
    foreign.content = f'<iframe src="{served.address}" width="900" height="600"></iframe>'
    clients = len(served.server.get_clients())
    with opened(chromium, f'http://127.0.0.1:{foreign.server_port}/') as tab:
        assert until(tab, lambda: any('frame-ancestors' in text for text in tab.said))
        assert len(served.server.get_clients()) == clients


def test_the_page_follows_the_colour_scheme_of_the_browser(chromium, served):
    with opened(chromium, served.address) as tab:
        for scheme in ('light', 'dark', 'light'):
            tab.emulate_media(color_scheme=scheme)
            tab.locator(f'html[data-mantine-color-scheme="{scheme}"]').wait_for(
                state='attached', timeout=SLOW
            )
            sky = tab.locator('canvas[data-engine]').evaluate(
                'canvas => getComputedStyle(canvas).backgroundImage'
            )
            assert ('rgb(32, 38, 46)' in sky) == (scheme == 'dark')
