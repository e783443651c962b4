"""The methods, one file each: their parameters and their step."""
