"""Parts of requests: group, links, poses, frames, constraints, start posture and error codes."""
