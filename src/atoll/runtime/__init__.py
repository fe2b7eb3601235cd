"""The per-sandbox process. It runs outside the wall and never imports the control plane."""
