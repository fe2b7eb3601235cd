"""Steps of a bring-up, by subject; `wiring.control.lifecycle.bring_up` lists them in order."""
