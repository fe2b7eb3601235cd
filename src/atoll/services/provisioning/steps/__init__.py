"""Steps of a bring-up, one a module; `wiring.control.lifecycle.bring_up` lists them in order."""
