"""The known world as a scene of MoveIt: its services, and the topic that shows it."""
