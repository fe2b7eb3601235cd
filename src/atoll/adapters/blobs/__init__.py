"""Stores of blobs: a folder, and a bucket of an S3 service."""
