"""Settings of the documentation site; `make docs` builds it, without the network."""

from __future__ import annotations

from pathlib import Path
import sys
from typing import NewType

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / '_ext'), str(DOCS.parent)]

import numpy.typing  # noqa: E402

import ik_service  # noqa: E402  from this checkout

# rosdoc2 builds a copy of this folder elsewhere, where `../` lacks what pages link and include,
# and adds pages of its own, which repeat those here.
for name in ('CHANGELOG.rst', 'CONTRIBUTING.md', 'config', 'examples', 'ik_service'):
    if not (DOCS.parent / name).exists():
        (DOCS.parent / name).symlink_to(Path(ik_service.__file__).resolve().parents[1] / name)
PAGES_OF_ROSDOC2 = ['index.rst', '__*.rst', 'README.md', 'CHANGELOG.rst', 'CONTRIBUTING.md']
rosdoc2_settings = {'allow_other_extensions': True}

# A union of eight private types otherwise, spelled out at every argument.
numpy.typing.ArrayLike = NewType('ArrayLike', object)
numpy.typing.ArrayLike.__module__ = 'numpy.typing'

project = 'ik_service'
author = 'the authors of ik_service'
project_copyright = 'the authors of ik_service, Apache-2.0'
release = version = ik_service.__version__

extensions = ['myst_parser', 'sphinx.ext.autodoc', 'mathml', 'generated_pages']
exclude_patterns = ['_ext', 'generated', 'methods_template.md', *PAGES_OF_ROSDOC2]
myst_enable_extensions = ['colon_fence', 'deflist', 'dollarmath']
myst_heading_anchors = 3  # the same anchors as on GitHub

autodoc_typehints = 'description'
autodoc_typehints_description_target = 'documented'
autodoc_member_order = 'bysource'
autodoc_class_signature = 'mixed'
python_use_unqualified_type_names = True
# Other projects' classes: there are no inventories to look them up in without the network.
nitpick_ignore_regex = [
    (r'py:.*', r'(numpy|np|pathlib|os|collections|enum|threading|rclpy|geometry_msgs)\..*'),
    # Short names in docstrings that mean their own module, and what is private.
    (r'py:(func|class|meth|attr|data|obj)', r'\w+'),
    (r'py:class', r'ik_service\..*\._\w+'),
    (r'py:class', r'ik_service\..*\.(JointSpace|StepFunction|RobotDescription|Solid|LinkGoal)'),
]

html_theme = 'furo'
html_title = 'ik_service'
html_static_path = ['_static']
html_css_files = ['site.css']
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    'light_css_variables': {
        'color-brand-primary': '#c2410c',
        'color-brand-content': '#b0400a',
        'color-api-name': '#b0400a',
        'color-api-pre-name': '#57606a',
        'color-sidebar-link-text': '#24292f',
        'color-sidebar-link-text--top-level': '#24292f',
        'color-code-background': '#f6f8fa',
    },
    'dark_css_variables': {
        'color-brand-primary': '#fb923c',
        'color-brand-content': '#fda45f',
        'color-api-name': '#fda45f',
        'color-api-pre-name': '#9da7b3',
        'color-sidebar-link-text': '#ced4da',
        'color-sidebar-link-text--top-level': '#ced4da',
    },
}
pygments_style = 'friendly'
html_math_renderer = 'mathml'

linkcheck_timeout = 20
linkcheck_ignore = [r'http://(localhost|127\.0\.0\.1).*']
