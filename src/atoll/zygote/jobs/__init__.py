"""Jobs for the control plane and for runtimes: git imports, `sudo` commands, the wall's
programs."""
