"""A compose file of a sandbox: read strictly, judged by a list of keys, written anew."""
