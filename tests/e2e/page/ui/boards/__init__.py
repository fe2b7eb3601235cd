"""Browser tests of dashboards, against a scripted server that keeps real documents."""
