"""Questions of agents at their terminals that are answered from elsewhere, too."""
