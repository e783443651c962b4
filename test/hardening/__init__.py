"""Attacks on running programs, with what is measured in them."""
