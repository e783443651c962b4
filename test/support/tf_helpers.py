"""The messages of tf, where they are installed."""

import importlib

import pytest


def require_tf_messages():
    """Skip the test where they are not installed."""
    try:
        module = importlib.import_module('tf2_msgs.msg')
    except ImportError:
        module = None
    if not hasattr(module, 'TFMessage'):  # the folder of its sources can be imported, too
        pytest.skip('needs the message types of tf2_msgs: make env')
