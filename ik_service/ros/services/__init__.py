"""Services of the core: inverse and forward kinematics, validity, paths and batches."""
