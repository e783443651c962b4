import math

import pytest

from ik_service.viewer.panel import panel_text
from ik_service.viewer.panel.measures import JointPlace, Lag
from ik_service.viewer.panel.panel_text import Figures
from ik_service.viewer.panel.presence import Level, Presence
from ik_service.viewer.panel.solve_figures import SolveFigures

EVIL = '<script>alert("&")</script>'


def test_the_figures_in_people_s_units():
    html = panel_text.figures_table(
        Figures(
            position_error=0.0123,
            orientation_error=math.radians(0.5),
            solve=SolveFigures(4, 1, 0.0235, 0.0, 0.0),
            lag=Lag('elbow', math.radians(1.25), 'rad', 0.032),
            manipulability=0.0812,
            smallest_singular_value=0.2,
        )
    )
    for text in ['12.3 mm', '0.500°', '4 iterations', '1 search, ', '24 µs', '1.2°', '32 ms']:
        assert text in html
    assert '0.0812' in html
    assert 'elbow' in html


def test_what_is_not_measured_is_a_dash():
    html = panel_text.figures_table(Figures())
    assert html.count('–') == 5
    assert 'None' not in html


def test_a_target_that_is_not_reached_is_explained():
    verdict = 'the target lies outside the reach'
    assert verdict in panel_text.figures_table(Figures(verdict=verdict, reached=False))
    assert verdict not in panel_text.figures_table(Figures(verdict=verdict, reached=True))


def test_joints_with_their_distance_to_a_limit():
    html = panel_text.joints_table(
        [
            JointPlace('elbow', math.radians(170.0), 'rad', -math.pi, math.pi),
            JointPlace('lift', 0.25, 'm', 0.0, 1.0),
            JointPlace('wheel', 1.0, 'rad', -math.inf, math.inf),
        ]
    )
    for text in ['elbow', '170.0°', '10.0°', 'lift', '250.0 mm', 'wheel', '∞']:
        assert text in html
    assert html.count('border-radius:0.25em;background') == 2  # two bars: the wheel has no ends


def test_names_from_outside_cannot_become_markup():
    for html in [
        panel_text.banner(Presence(Level.GOOD, EVIL, EVIL, True)),
        panel_text.joints_table([JointPlace(EVIL, 0.0, 'rad', -1.0, 1.0)]),
        panel_text.figures_table(
            Figures(verdict=EVIL, reached=False, lag=Lag(EVIL, 0.0, 'rad', 0.0))
        ),
    ]:
        assert '<script' not in html
        assert '&lt;script' in html


@pytest.mark.parametrize(('danger', 'hue'), [(0.0, 140), (0.5, 70), (1.0, 0), (3.0, 0)])
def test_colours_go_from_green_to_red(danger, hue):
    assert panel_text.danger_color(danger).startswith(f'hsl({hue},')
