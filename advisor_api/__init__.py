"""What should happen next: policy, advice and the API that serves it."""
