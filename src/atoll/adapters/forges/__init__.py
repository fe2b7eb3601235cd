"""Forges: GitHub and Gitea, by their REST interfaces."""
