"""Files and seals of contents: sparse disk images, and packed and sealed blobs."""
