"""All solutions of a target: closed forms, searches, and walks along self-motions."""
