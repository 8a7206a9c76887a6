"""What the dashboard, the API and the static site show: frozen values, and how they are made from a PRD's state."""
