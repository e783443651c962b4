"""URDF text to :class:`Robot`: the only place that knows XML."""
