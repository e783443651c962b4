"""Measured state of an arm: plausible, fresh, and near its commands."""
