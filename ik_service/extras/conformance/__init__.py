"""Checks of any ``compute_ik`` and ``compute_fk`` server, run by ``ik_conformance``."""

from ik_service.common.resources import require_ros

require_ros()
