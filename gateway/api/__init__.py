"""The control plane, and errors in OpenAI's shape."""
