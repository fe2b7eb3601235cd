"""The per-sandbox process. It stands outside the wall and never imports the control plane."""
