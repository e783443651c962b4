"""The browser view: what is on the ROS graph, drawn and moved in a page (viser)."""
