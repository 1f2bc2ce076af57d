"""The Helm chart: rendered by the real helm, checked as the API server and the gateway would."""
