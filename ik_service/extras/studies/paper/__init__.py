"""The experiment of Šoch and Lórencz."""
